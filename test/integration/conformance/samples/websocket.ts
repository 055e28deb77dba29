import { createAuthority } from '../../../helpers/targets/certificates.ts';
import { startFilteredTarget } from '../../../helpers/targets/filtered-target.ts';
import { closedPort } from '../../../helpers/targets/tcp-target.ts';
import { startFramingServer, startHandshakeServer } from '../../../helpers/websocket/hostile-server.ts';
import { startSocketServer } from '../../../helpers/websocket/socket-server.ts';
import type { FailingSample, Samples } from './samples.ts';

const request = { url: 'ws://127.0.0.1:1/' };
const withStep = (step: object) => ({ request: { ...request, steps: [step] } });
const asserted = (assertion: object) => ({
  request: {
    ...request,
    assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '101', ...assertion }],
  },
});
const expecting = (assertion: object) => ({ type: 'EXPECT', assertions: [assertion] });
const contains = (target: string) => expecting({ source: 'TEXT_BODY', comparison: 'CONTAINS', target });

export const samples: Samples = {
  minimal: { request },
  refused: {
    'request.url': { request: { url: 'https://example.com' } },
    'request.headers.0.key': { request: { ...request, headers: [{ key: 'Sec-WebSocket-Key', value: 'x' }] } },
    'request.subprotocols.0': { request: { ...request, subprotocols: ['a, b'] } },
    'request.subprotocols': { request: { ...request, subprotocols: ['a', 'a'] } },
    'request.serverName': { request: { ...request, serverName: 'example.com' } },
    'request.ipFamily': { request: { ...request, ipFamily: 'IPv5' } },
    'request.timeout': { request: { ...request, timeout: 61 } },
    'request.traceparentHosts.0': { request: { ...request, traceparentHosts: ['https://example.com'] } },
    'request.steps.0.type': withStep({ type: 'WAIT' }),
    'request.steps.0.message': withStep({ type: 'EXPECT', message: 'hello' }),
    'request.steps.0.isBinary': withStep({ type: 'EXPECT', isBinary: true }),
    'request.steps.0.assertions': withStep({
      type: 'SEND',
      assertions: [{ source: 'TEXT_BODY', comparison: 'NOT_EMPTY' }],
    }),
    'request.steps.0.assertions.0.property': withStep(
      expecting({ source: 'JSON_BODY', property: '$[', comparison: 'NOT_EMPTY' }),
    ),
    'request.steps.0.skipOthers': withStep({ type: 'EXPECT', skipOthers: true }),
    'request.steps.0.timeoutMs': withStep({ type: 'SEND', message: 'hello', timeoutMs: 100 }),
    'request.steps': { ...withStep({ type: 'SEND', message: 'hello' }), shouldFail: true },
    'request.assertions.0.source': asserted({ source: 'CODE' }),
    'request.assertions.0.property': asserted({ source: 'TEXT_BODY', property: '(' }),
    degradedResponseTime: { request, degradedResponseTime: 60_001 },
    maxResponseTime: { request, maxResponseTime: -1 },
  },
  async start() {
    const authority = await createAuthority();
    const sound = await startSocketServer();
    const secure = await startSocketServer({ identity: await authority.issue() });
    const masked = await startFramingServer('a masked frame');
    const unaccepting = await startHandshakeServer('no accept');
    const mute = await startHandshakeServer('nothing');
    const filtered = await startFilteredTarget();
    const to = (path: string, rest: object = {}) => ({ request: { url: `${sound.url}${path}`, ...rest } });
    const at = (url: string, rest: object = {}) => ({ request: { url, ...rest } });
    const closed = `ws://127.0.0.1:${await closedPort()}/`;
    const first = { steps: [{ type: 'EXPECT' }] };
    const failing: FailingSample[] = [
      { name: 'a closed port', body: at(closed), code: 'CONNECTION_REFUSED' },
      {
        name: 'a filtered port',
        body: at(`ws://${filtered.host}:${filtered.port}/`),
        code: 'CONNECTION_TIMEOUT',
        timeoutMs: 250,
      },
      { name: 'a refusal', body: to('/forbidden'), code: 'STATUS_UNEXPECTED' },
      { name: 'a redirect', body: to('/elsewhere'), code: 'STATUS_UNEXPECTED' },
      {
        name: 'an open door',
        body: { ...to('/echo'), shouldFail: true },
        code: 'STATUS_UNEXPECTED',
      },
      { name: 'an unknown authority', body: at(secure.url), code: 'TLS_CERTIFICATE_INVALID' },
      {
        name: 'TLS where none is spoken',
        body: at(sound.url.replace('ws:', 'wss:')),
        code: 'TLS_HANDSHAKE_FAILED',
      },
      {
        name: 'another message',
        body: to('/greeting', { steps: [contains('554')] }),
        code: 'DIALOGUE_FAILED',
      },
      { name: 'a close in place of a message', body: to('/gone', first), code: 'DIALOGUE_FAILED' },
      { name: 'a message that is too large', body: to('/too-large', first), code: 'DIALOGUE_FAILED' },
      { name: 'a connection that is cut', body: to('/cut', first), code: 'CONNECTION_RESET' },
      { name: 'a masked frame', body: at(masked.url, first), code: 'RESPONSE_MALFORMED' },
      { name: 'a handshake without accept', body: at(unaccepting.url), code: 'RESPONSE_MALFORMED' },
      { name: 'a handshake without answer', body: at(mute.url), code: 'RESPONSE_TIMEOUT', timeoutMs: 250 },
      {
        name: 'silence',
        body: to('/silent', { steps: [{ type: 'EXPECT', timeoutMs: 100 }] }),
        code: 'RESPONSE_TIMEOUT',
      },
      {
        name: 'another close code',
        body: to('/gone', {
          steps: [{ type: 'EXPECT_CLOSE' }],
          assertions: [{ source: 'CLOSE_CODE', comparison: 'EQUALS', target: '1000' }],
        }),
        code: 'ASSERTION_FAILED',
      },
      {
        name: 'a header that nobody can send',
        body: to('/echo', { headers: [{ key: 'a b', value: 'c' }] }),
        code: 'REQUEST_INVALID',
      },
      { name: 'the metadata service', body: at('ws://169.254.169.254/'), code: 'EGRESS_DENIED' },
      {
        name: 'a template that is none',
        body: to('/echo', { steps: [{ type: 'SEND', message: '{{#if}}' }] }),
        code: 'TEMPLATE_INVALID',
      },
      { name: 'a URL that is none', body: at('{{NOTHING}}'), code: 'URL_INVALID' },
    ];
    return {
      passing: to('/orders', {
        steps: [
          { type: 'SEND', message: '{"op": "get", "id": 7}' },
          {
            ...expecting({ source: 'JSON_BODY', property: '$.type', comparison: 'EQUALS', target: 'result' }),
            skipOthers: true,
          },
        ],
        assertions: [
          { source: 'JSON_BODY', property: '$[1].items[0].price', comparison: 'EQUALS', target: '5' },
          { source: 'CLOSE_CODE', comparison: 'EQUALS', target: '1000' },
        ],
      }),
      failing,
      hanging: at(mute.url),
      async close() {
        const all = [sound, secure, masked, unaccepting, mute, filtered];
        await Promise.all(all.map((one) => one.close()));
      },
    };
  },
};
