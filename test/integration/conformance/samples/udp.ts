import { closedPort } from '../../../helpers/targets/tcp-target.ts';
import { startUdpTarget, udpAnswers } from '../../../helpers/targets/udp-target.ts';
import type { Samples } from './samples.ts';

const request = { hostname: '127.0.0.1', port: 1 };
const assertion = { source: 'RESPONSE_DATA', comparison: 'EQUALS', target: 'ping' };
const withRequest = (rest: object) => ({ request: { ...request, ...rest } });

export const samples: Samples = {
  minimal: { request },
  refused: {
    'request.hostname': withRequest({ hostname: 'udp://example.com' }),
    'request.port': withRequest({ port: 65_536 }),
    'request.ipFamily': withRequest({ ipFamily: 'IPv5' }),
    'request.data': withRequest({ data: '0', dataFormat: 'HEX' }),
    'request.steps': withRequest({ steps: Array.from({ length: 21 }, () => ({})) }),
    'request.steps.0.data': withRequest({ steps: [{ data: 'f' }], dataFormat: 'HEX' }),
    'request.steps.0.regex': withRequest({ steps: [{ regex: '(' }] }),
    'request.dataFormat': withRequest({ dataFormat: 'BASE64' }),
    'request.attempts': withRequest({ attempts: 6 }),
    'request.attemptTimeoutMs': withRequest({ attemptTimeoutMs: 99 }),
    'request.assertions.0.source': withRequest({ assertions: [{ ...assertion, source: 'CONNECTION' }] }),
    'request.assertions.0.comparison': withRequest({ assertions: [{ ...assertion, comparison: 'IS_NULL' }] }),
    degradedResponseTime: { request, degradedResponseTime: 25_001 },
    maxResponseTime: { request, maxResponseTime: -1 },
  },
  async start() {
    const echo = await startUdpTarget(udpAnswers.echo);
    const silent = await startUdpTarget(udpAnswers.silent);
    const to = ({ port }: { readonly port: number }, rest: object = {}) =>
      withRequest({ port, data: 'ping', attempts: 1, attemptTimeoutMs: 5000, ...rest });
    return {
      passing: to(echo, { assertions: [assertion] }),
      failing: [
        { name: 'a closed port', body: to({ port: await closedPort() }), code: 'CONNECTION_REFUSED' },
        {
          name: 'silence',
          body: to(silent, { attempts: 2, attemptTimeoutMs: 100 }),
          code: 'RESPONSE_TIMEOUT',
        },
        {
          name: 'an assertion',
          body: to(echo, { assertions: [{ ...assertion, target: 'pong' }] }),
          code: 'ASSERTION_FAILED',
        },
        {
          name: 'an answer that should not come',
          body: { ...to(echo), shouldFail: true },
          code: 'REPLY_UNEXPECTED',
        },
        {
          name: 'an answer to a step that does not fit',
          body: to(echo, {
            ...{ data: '', attempts: 1, attemptTimeoutMs: 100 },
            steps: [{ data: 'ping', text: 'pong' }],
          }),
          code: 'DIALOGUE_FAILED',
        },
        {
          name: 'a slow answer',
          body: { ...to(echo), maxResponseTime: 0 },
          code: 'MAX_RESPONSE_TIME_EXCEEDED',
        },
        {
          name: 'a name that does not exist',
          body: to(echo, { hostname: 'nobody.invalid' }),
          code: 'NAME_NOT_FOUND',
        },
        { name: 'a template that is none', body: to(echo, { data: '{{#if}}' }), code: 'TEMPLATE_INVALID' },
        { name: 'a host that is none', body: to(echo, { hostname: 'a b{{X}}' }), code: 'HOST_INVALID' },
        {
          name: 'data that are no digits',
          body: to(echo, { data: '{{X}}zz', dataFormat: 'HEX' }),
          code: 'REQUEST_INVALID',
        },
        {
          name: 'an address that is closed',
          body: to(echo, { hostname: '169.254.169.254' }),
          code: 'EGRESS_DENIED',
        },
      ],
      hanging: to(silent, { attempts: 5 }),
      close: async () => {
        await echo.close();
        await silent.close();
      },
    };
  },
};
