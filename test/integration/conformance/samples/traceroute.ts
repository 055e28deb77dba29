import { startFilteredTarget } from '../../../helpers/targets/filtered-target.ts';
import { closedPort, startTcpTarget } from '../../../helpers/targets/tcp-target.ts';
import { closeAll, type Samples } from './samples.ts';

const request = { url: '127.0.0.1' };
const rtt = { source: 'RESPONSE_TIME', property: 'avg', comparison: 'LESS_THAN', target: '1000' };
const path = { source: 'PATH', comparison: 'CONTAINS', target: '127.0.0.1' };
const withRequest = (rest: object) => ({ request: { ...request, ...rest } });
const withAssertion = (rest: object) => withRequest({ assertions: [{ ...rtt, ...rest }] });

export const samples: Samples = {
  minimal: { request },
  refused: {
    'request.url': withRequest({ url: 'https://example.com/' }),
    'request.protocol': withRequest({ protocol: 'SCTP' }),
    'request.port': withRequest({ protocol: 'ICMP', port: 443 }),
    'request.ipFamily': withRequest({ ipFamily: 'IPv5' }),
    'request.maxHops': withRequest({ maxHops: 65 }),
    'request.maxUnknownHops': withRequest({ maxUnknownHops: 31 }),
    'request.probesPerHop': withRequest({ probesPerHop: 11 }),
    'request.probeTimeoutMs': withRequest({ probeTimeoutMs: 99 }),
    'request.ptrLookup': withRequest({ ptrLookup: 'yes' }),
    'request.timeout': withRequest({ timeout: 31 }),
    'request.assertions.0.source': withAssertion({ source: 'STATUS_CODE' }),
    'request.assertions.0.property': withAssertion({ property: 'p95' }),
    'request.assertions.0.comparison': withAssertion({ comparison: 'HAS_KEY' }),
    degradedResponseTime: { request, degradedResponseTime: 30_001 },
    maxResponseTime: { request, maxResponseTime: -1 },
  },
  // Loopback is one hop; routes with routers are in test/system/checks/traceroute-checks.test.ts.
  async start() {
    const open = await startTcpTarget('silent');
    const filtered = await startFilteredTarget();
    const closed = { port: await closedPort() };
    const to = ({ port }: { readonly port: number }, rest: object = {}) =>
      withRequest({ port, ptrLookup: false, probesPerHop: 1, ...rest });
    return {
      passing: to(open, { assertions: [rtt, path] }),
      failing: [
        {
          name: 'an assertion',
          body: to(closed, {
            assertions: [{ source: 'HOP_COUNT', comparison: 'GREATER_THAN', target: '1' }],
          }),
          code: 'ASSERTION_FAILED',
        },
        {
          name: 'a slow answer',
          body: { ...to(closed), maxResponseTime: 0 },
          code: 'MAX_RESPONSE_TIME_EXCEEDED',
        },
        {
          name: 'an answer that should not come',
          body: { ...to(closed, { protocol: 'UDP' }), shouldFail: true },
          code: 'REPLY_UNEXPECTED',
        },
        {
          name: 'a name that does not exist',
          body: withRequest({ url: 'nobody.invalid' }),
          code: 'NAME_NOT_FOUND',
        },
        { name: 'silence', body: to(filtered), code: 'NO_REPLY', timeoutMs: 250 },
        { name: 'a template that is none', body: withRequest({ url: '{{#if}}' }), code: 'TEMPLATE_INVALID' },
        {
          name: 'a host that is none',
          body: withRequest({ url: 'a b{{X}}' }),
          code: 'HOST_INVALID',
        },
        {
          name: 'an address that is closed',
          body: withRequest({ url: '169.254.169.254' }),
          code: 'EGRESS_DENIED',
        },
      ],
      hanging: to(filtered),
      close: async () => {
        await closeAll([open])();
        await filtered.close();
      },
    };
  },
};
