import { createAuthority } from '../../../helpers/targets/certificates.ts';
import { startHostileTarget, startSilentTarget } from '../../../helpers/targets/hostile-target.ts';
import { startHttpsTarget, startHttpTarget } from '../../../helpers/targets/http-target.ts';
import { closeAll, type FailingSample, type RunSamples } from './samples.ts';

/** Runs of check types that send one HTTP request. */
export async function startHttpSamples(): Promise<RunSamples> {
  const authority = await createAuthority();
  const target = await startHttpTarget();
  const expired = await startHttpsTarget({ identity: await authority.issue({ fromDays: -9, toDays: -1 }) });
  const silent = await startSilentTarget();
  const hostile = {
    'reset-after-request': await startHostileTarget('reset-after-request'),
    garbage: await startHostileTarget('garbage'),
    'not-gzip': await startHostileTarget('not-gzip'),
    'endless-headers': await startHostileTarget('endless-headers'),
    'trickling-chunks': await startHostileTarget('trickling-chunks'),
  };
  const request = (url: string, rest: object = {}) => ({ request: { url, ...rest } });
  const notFound = [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '404' }];
  const failing: FailingSample[] = [
    { name: 'a 503', body: request(`${target.url}/status/503`), code: 'STATUS_UNEXPECTED' },
    { name: 'an assertion', body: request(target.url, { assertions: notFound }), code: 'ASSERTION_FAILED' },
    {
      name: 'a slow answer',
      body: { ...request(`${target.url}/delay/60`), maxResponseTime: 20 },
      code: 'MAX_RESPONSE_TIME_EXCEEDED',
    },
    { name: 'a closed port', body: request('http://127.0.0.1:1/'), code: 'CONNECTION_REFUSED' },
    { name: 'an expired certificate', body: request(expired.url), code: 'TLS_CERTIFICATE_INVALID' },
    { name: 'a redirect loop', body: request(`${target.url}/redirect-loop`), code: 'REDIRECT_LIMIT' },
    {
      name: 'a redirect to a file',
      body: request(`${target.url}/redirect-to?url=file:/etc/passwd`),
      code: 'REDIRECT_INVALID',
    },
    { name: 'silence', body: request(silent.url), code: 'RESPONSE_TIMEOUT', timeoutMs: 250 },
    { name: 'a reset', body: request(hostile['reset-after-request'].url), code: 'CONNECTION_RESET' },
    { name: 'garbage', body: request(hostile.garbage.url), code: 'RESPONSE_MALFORMED' },
    { name: 'endless headers', body: request(hostile['endless-headers'].url), code: 'RESPONSE_MALFORMED' },
    { name: 'a body that is not gzip', body: request(hostile['not-gzip'].url), code: 'RESPONSE_UNDECODABLE' },
    {
      name: 'a body that never ends',
      body: request(hostile['trickling-chunks'].url),
      code: 'RESPONSE_TIMEOUT',
      timeoutMs: 250,
    },
    { name: 'the metadata service', body: request('http://169.254.169.254/'), code: 'EGRESS_DENIED' },
    { name: 'a template that is none', body: request('http://{{#if}}/'), code: 'TEMPLATE_INVALID' },
    { name: 'a URL that is none', body: request('{{NOTHING}}gopher://x.test/'), code: 'URL_INVALID' },
  ];
  return {
    passing: request(`${target.url}/redirect/2`),
    failing,
    hanging: request(silent.url),
    close: closeAll([target, expired, silent, ...Object.values(hostile)]),
  };
}

const url = 'http://127.0.0.1/';

/** Bodies that every type with an HTTP request refuses. */
export const refusedHttp = {
  'request.url': { request: { url: '' } },
  'request.method': { request: { url, method: 'OPTIONS' } },
  'request.ipFamily': { request: { url, ipFamily: 'IPv5' } },
  'request.traceparentHosts.0': { request: { url, traceparentHosts: ['http://shop.example/'] } },
  'request.serverName': { request: { url, serverName: '10.0.0.1' } },
  'request.auth.type': { request: { url, auth: { type: 'BEARER', username: 'x' } } },
  'request.auth.username': { request: { url, auth: { type: 'DIGEST', password: 'x' } } },
  'request.auth.domain': { request: { url, auth: { type: 'BASIC', username: 'x', domain: 'y' } } },
  'request.assertions.0.source': {
    request: { url, assertions: [{ source: 'LATENCY', comparison: 'EQUALS', target: '1' }] },
  },
  'request.assertions.0.comparison': {
    request: { url, assertions: [{ source: 'STATUS_CODE', comparison: 'IS_NICE', target: '1' }] },
  },
  degradedResponseTime: { request: { url }, degradedResponseTime: 30_001 },
  maxResponseTime: { request: { url }, maxResponseTime: -1 },
};
