import { createAuthority } from '../../../helpers/targets/certificates.ts';
import { startFilteredTarget } from '../../../helpers/targets/filtered-target.ts';
import { closedPort, startTcpTarget } from '../../../helpers/targets/tcp-target.ts';
import { closeAll, type FailingSample, type Samples } from './samples.ts';

const request = { hostname: '127.0.0.1', port: 1 };
const assertion = { source: 'RESPONSE_DATA', comparison: 'EQUALS', target: '1' };

export const samples: Samples = {
  minimal: { request },
  refused: {
    'request.hostname': { request: { ...request, hostname: 'tcp://example.com' } },
    'request.port': { request: { ...request, port: 65_536 } },
    'request.ipFamily': { request: { ...request, ipFamily: 'IPv5' } },
    'request.serverName': { request: { ...request, serverName: 'shop.example' } },
    'request.data': { request: { ...request, data: 'x', steps: [{ type: 'EXPECT' }] } },
    'request.useSSL': { request: { ...request, useSSL: true, steps: [{ type: 'START_TLS' }] } },
    'request.steps.0.type': { request: { ...request, steps: [{ type: 'WAIT' }] } },
    'request.steps.0.text': { request: { ...request, steps: [{ type: 'SEND' }] } },
    'request.steps.0.regex': { request: { ...request, steps: [{ type: 'EXPECT', regex: '(' }] } },
    'request.steps.0.timeoutMs': { request: { ...request, steps: [{ type: 'EXPECT', timeoutMs: 30_001 }] } },
    'request.steps': { request: { ...request, steps: [{ type: 'EXPECT' }] }, shouldFail: true },
    'request.assertions.0.source': {
      request: { ...request, assertions: [{ ...assertion, source: 'STATUS_CODE' }] },
    },
    'request.assertions.0.comparison': {
      request: { ...request, assertions: [{ ...assertion, comparison: 'IS_NULL' }] },
    },
    degradedResponseTime: { request, degradedResponseTime: 5001 },
    maxResponseTime: { request, maxResponseTime: -1 },
  },
  async start() {
    const authority = await createAuthority();
    const expired = await authority.issue({ fromDays: -9, toDays: -1 });
    const targets = {
      echo: await startTcpTarget('echo-and-close'),
      banner: await startTcpTarget('banner-in-pieces'),
      resetting: await startTcpTarget('banner-then-reset'),
      silent: await startTcpTarget('silent'),
      trickle: await startTcpTarget('trickle'),
      expired: await startTcpTarget('echo-and-close', { identity: expired }),
    };
    const filtered = await startFilteredTarget();
    const to = (target: { readonly port: number }, rest: object = {}) => ({
      request: { ...request, port: target.port, ...rest },
    });
    const closed = { port: await closedPort() };
    const failing: FailingSample[] = [
      { name: 'a closed port', body: to(closed), code: 'CONNECTION_REFUSED' },
      { name: 'a filtered port', body: to(filtered), code: 'CONNECTION_TIMEOUT', timeoutMs: 250 },
      {
        name: 'an open port',
        body: { ...to(targets.echo), shouldFail: true },
        code: 'CONNECTION_UNEXPECTED',
      },
      { name: 'a reset', body: to(targets.resetting, { data: 'x' }), code: 'CONNECTION_RESET' },
      {
        name: 'silence',
        body: to(targets.silent, { data: 'x' }),
        code: 'RESPONSE_TIMEOUT',
        timeoutMs: 250,
      },
      {
        name: 'another line',
        body: to(targets.banner, { steps: [{ type: 'EXPECT', regex: '^554', timeoutMs: 1000 }] }),
        code: 'DIALOGUE_FAILED',
      },
      {
        name: 'another answer',
        body: to(targets.echo, { data: 'x', assertions: [assertion] }),
        code: 'ASSERTION_FAILED',
      },
      {
        name: 'a slow banner',
        body: { ...to(targets.banner, { data: 'x' }), maxResponseTime: 50 },
        code: 'MAX_RESPONSE_TIME_EXCEEDED',
      },
      {
        name: 'bytes without end',
        body: { ...to(targets.trickle, { data: 'x' }), maxResponseTime: 100 },
        code: 'MAX_RESPONSE_TIME_EXCEEDED',
        timeoutMs: 250,
      },
      {
        name: 'an expired certificate',
        body: to(targets.expired, { useSSL: true }),
        code: 'TLS_CERTIFICATE_INVALID',
      },
      { name: 'no TLS', body: to(targets.echo, { useSSL: true }), code: 'TLS_HANDSHAKE_FAILED' },
      {
        name: 'the metadata service',
        body: to({ port: 80 }, { hostname: '169.254.169.254' }),
        code: 'EGRESS_DENIED',
      },
      { name: 'a template that is none', body: to(closed, { data: '{{#if}}' }), code: 'TEMPLATE_INVALID' },
      { name: 'a host that is none', body: to(closed, { hostname: 'a b{{X}}' }), code: 'HOST_INVALID' },
    ];
    return {
      passing: to(targets.echo, {
        data: 'hello',
        assertions: [{ source: 'RESPONSE_DATA', comparison: 'CONTAINS', target: 'hell' }],
      }),
      failing,
      hanging: to(targets.silent, { data: 'x' }),
      close: async () => {
        await closeAll(Object.values(targets))();
        await filtered.close();
      },
    };
  },
};
