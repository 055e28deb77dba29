import { rdapDomain, startRdapTarget } from '../../../helpers/targets/rdap-target.ts';
import type { Samples } from './samples.ts';

const request = { domain: 'example.com' };
const assertion = { source: 'REGISTRAR', comparison: 'EQUALS', target: 'Example Registrar Inc.' };
const withRequest = (rest: object) => ({ request: { ...request, ...rest } });

export const samples: Samples = {
  // Without a server of its own, it would ask the list of IANA.
  minimal: withRequest({ rdapServer: 'http://127.0.0.1/' }),
  refused: {
    'request.domain': withRequest({ domain: 'https://example.com' }),
    'request.rdapServer': withRequest({ rdapServer: 'rdap.example' }),
    'request.rdapDirectory': withRequest({ rdapDirectory: 'ftp://rdap.example/dns.json' }),
    'request.alertDaysBeforeExpiry': withRequest({ alertDaysBeforeExpiry: 3651 }),
    'request.failDaysBeforeExpiry': withRequest({ failDaysBeforeExpiry: 31 }),
    'request.assertions.0.source': withRequest({ assertions: [{ ...assertion, source: 'CONNECTION' }] }),
    'request.assertions.0.comparison': withRequest({ assertions: [{ ...assertion, comparison: 'HAS_KEY' }] }),
    degradedResponseTime: { request, degradedResponseTime: 30_001 },
    maxResponseTime: { request, maxResponseTime: -1 },
  },
  async start() {
    const target = await startRdapTarget({
      'long.test': rdapDomain('long.test', 200),
      'soon.test': rdapDomain('soon.test', 3),
      'undated.test': rdapDomain('undated.test', null),
      'limited.test': (response) => response.writeHead(503, { 'retry-after': '0' }).end(),
      'odd.test': (response) => response.end('<html>'),
    });
    const of = (domain: string, rest: object = {}) =>
      withRequest({ domain, rdapDirectory: target.directory, ...rest });
    const other = [{ ...assertion, target: 'Other Registrar' }];
    return {
      passing: of('long.test', { assertions: [assertion] }),
      failing: [
        { name: 'an early expiry', body: of('soon.test'), code: 'DOMAIN_EXPIRING' },
        { name: 'an unknown domain', body: of('free.test'), code: 'DOMAIN_NOT_REGISTERED' },
        { name: 'no date', body: of('undated.test'), code: 'DOMAIN_EXPIRY_UNPUBLISHED' },
        { name: 'no server', body: of('long.unlisted'), code: 'DOMAIN_EXPIRY_UNPUBLISHED' },
        { name: 'a busy server', body: of('limited.test'), code: 'RDAP_UNAVAILABLE' },
        { name: 'no RDAP', body: of('odd.test'), code: 'RDAP_UNAVAILABLE' },
        {
          name: 'a closed port',
          body: of('long.test', { rdapServer: 'http://127.0.0.1:1/' }),
          code: 'RDAP_UNAVAILABLE',
        },
        {
          name: 'an assertion',
          body: of('long.test', { assertions: other }),
          code: 'ASSERTION_FAILED',
        },
        {
          name: 'a registered domain that should be free',
          body: { ...of('long.test'), shouldFail: true },
          code: 'REPLY_UNEXPECTED',
        },
        {
          name: 'a slow answer',
          body: { ...of('long.test'), maxResponseTime: 0 },
          code: 'MAX_RESPONSE_TIME_EXCEEDED',
        },
        { name: 'a template that is none', body: of('{{#if}}'), code: 'TEMPLATE_INVALID' },
        { name: 'a domain that is none', body: of('a b{{X}}'), code: 'HOST_INVALID' },
        {
          name: 'a server that is none',
          body: of('long.test', { rdapServer: '{{X}}' }),
          code: 'URL_INVALID',
        },
        {
          name: 'an address that is closed',
          body: of('long.test', { rdapServer: 'http://169.254.169.254/' }),
          code: 'EGRESS_DENIED',
        },
      ],
      close: () => target.close(),
    };
  },
};
