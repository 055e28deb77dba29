import { startNtpTarget } from '../../../helpers/targets/ntp-target.ts';
import { closedPort } from '../../../helpers/targets/tcp-target.ts';
import { startUdpTarget, udpAnswers } from '../../../helpers/targets/udp-target.ts';
import type { Samples } from './samples.ts';

const request = { hostname: '127.0.0.1' };
const assertion = { source: 'STRATUM', comparison: 'LESS_THAN', target: '3' };
const withRequest = (rest: object) => ({ request: { ...request, ...rest } });

export const samples: Samples = {
  minimal: { request },
  refused: {
    'request.hostname': withRequest({ hostname: 'ntp://example.com' }),
    'request.port': withRequest({ port: 65_536 }),
    'request.ipFamily': withRequest({ ipFamily: 'IPv5' }),
    'request.attempts': withRequest({ attempts: 6 }),
    'request.attemptTimeoutMs': withRequest({ attemptTimeoutMs: 99 }),
    'request.assertions.0.source': withRequest({ assertions: [{ ...assertion, source: 'CONNECTION' }] }),
    'request.assertions.0.comparison': withRequest({ assertions: [{ ...assertion, comparison: 'HAS_KEY' }] }),
    degradedOffsetMs: { request, degradedOffsetMs: -1 },
    maxOffsetMs: { request, maxOffsetMs: 99 },
    degradedResponseTime: { request, degradedResponseTime: 25_001 },
    maxResponseTime: { request, maxResponseTime: -1 },
  },
  async start() {
    const healthy = await startNtpTarget();
    const ahead = await startNtpTarget({ offsetMs: 5000 });
    const unsynchronized = await startNtpTarget({ leap: 3, stratum: 16 });
    const denying = await startNtpTarget({ leap: 3, stratum: 0, reference: Buffer.from('DENY') });
    const silent = await startUdpTarget(udpAnswers.silent);
    const other = await startUdpTarget(udpAnswers.binary);
    const to = ({ port }: { readonly port: number }, rest: object = {}) =>
      withRequest({ port, attempts: 1, attemptTimeoutMs: 5000, ...rest });
    const hasty = { attempts: 2, attemptTimeoutMs: 100 };
    return {
      passing: to(healthy, { assertions: [assertion] }),
      failing: [
        { name: 'a wrong clock', body: to(ahead), code: 'ASSERTION_FAILED' },
        { name: 'no synchronized clock', body: to(unsynchronized), code: 'REQUEST_REFUSED' },
        { name: 'a refusal', body: to(denying), code: 'REQUEST_REFUSED' },
        { name: 'a closed port', body: to({ port: await closedPort() }), code: 'CONNECTION_REFUSED' },
        { name: 'silence', body: to(silent, hasty), code: 'RESPONSE_TIMEOUT' },
        { name: 'another protocol', body: to(other, hasty), code: 'RESPONSE_MALFORMED' },
        {
          name: 'an assertion',
          body: to(healthy, { assertions: [{ ...assertion, target: '2' }] }),
          code: 'ASSERTION_FAILED',
        },
        {
          name: 'a time that should not come',
          body: { ...to(healthy), shouldFail: true },
          code: 'REPLY_UNEXPECTED',
        },
        {
          name: 'a slow answer',
          body: { ...to(healthy), maxResponseTime: 0 },
          code: 'MAX_RESPONSE_TIME_EXCEEDED',
        },
        {
          name: 'a name that does not exist',
          body: to(healthy, { hostname: 'nothing.invalid' }),
          code: 'NAME_NOT_FOUND',
        },
        {
          name: 'a template that is none',
          body: to(healthy, { hostname: '{{#if}}' }),
          code: 'TEMPLATE_INVALID',
        },
        { name: 'a host that is none', body: to(healthy, { hostname: 'a b{{X}}' }), code: 'HOST_INVALID' },
        {
          name: 'an address that is closed',
          body: to(healthy, { hostname: '169.254.169.254' }),
          code: 'EGRESS_DENIED',
        },
      ],
      hanging: to(silent, { attempts: 5 }),
      close: async () => {
        await Promise.all(
          [healthy, ahead, unsynchronized, denying, silent, other].map((target) => target.close()),
        );
      },
    };
  },
};
