import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setDefaultCACertificates } from 'node:tls';
import { afterAll, describe, expect, it } from 'vitest';
import type { WebSocketDetail } from '../../../src/checks/websocket/detail.ts';
import { warmUp } from '../../../src/checks/websocket/run.ts';
import { summaryOf } from '../../../src/checks/websocket/summary.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { startProxyTarget } from '../../helpers/targets/proxy-target.ts';
import { startFramingServer, startHandshakeServer } from '../../helpers/websocket/hostile-server.ts';
import { startSocketServer } from '../../helpers/websocket/socket-server.ts';
import { runSocketMonitor } from '../../helpers/websocket/socket-stage.ts';

const authority = await createAuthority();
const identity = await authority.issue();
setDefaultCACertificates([authority.cert]);
await warmUp();
const sound = await startSocketServer();
const secure = await startSocketServer({ identity, clientAuthority: authority.cert });
const proxy = await startProxyTarget({ username: 'anna', password: 'secret' });
afterAll(() => Promise.all([sound, secure, proxy].map((one) => one.close())));

const text = (target: string) => ({ source: 'TEXT_BODY', comparison: 'EQUALS', target });
const expecting = (...assertions: object[]) => ({ type: 'EXPECT', assertions });
const sending = (message: string, rest: object = {}) => ({ type: 'SEND', message, ...rest });
const saidIn = (detail: WebSocketDetail) =>
  summaryOf(detail).sections.flatMap(({ conversation = [] }) => conversation);
const at = (path: string, ...steps: object[]) => ({ url: `${sound.url}${path}`, steps });

describe('a WebSocket monitor', () => {
  it('shows the conversation, and its phases add up', async () => {
    const { detail, failure, measurement, responseTimeMs } = await runSocketMonitor(
      at('/orders', sending('{"op": "get", "id": 7}'), expecting(), expecting()),
    );
    expect(failure).toBeUndefined();
    const { response, steps } = detail;
    expect(response).toMatchObject({
      ...{ status: 101, ipAddress: '127.0.0.1', ipFamily: 'IPv4', subprotocol: null, body: '' },
      ...{ receivedCount: 2, omittedCount: 0, closeCode: 1000, isClosedByTarget: false },
    });
    const said = response?.messages.map(({ direction, step }) => [direction, step]);
    expect(said).toEqual([
      ['SENT', 1],
      ['RECEIVED', 2],
      ['RECEIVED', 3],
    ]);
    expect(steps.map(({ state }) => state)).toEqual(['DONE', 'DONE', 'DONE']);
    const { total = 0, ...phases } = response?.timingPhases ?? {};
    const sum = Object.values(phases).reduce((before, one) => before + one, 0);
    expect(sum).toBeCloseTo(total, 2);
    expect([total, (response?.closeTimeMs ?? -1) >= 0]).toEqual([responseTimeMs, true]);
    expect(measurement?.clock).toBe('kernel');
    await expect.poll(() => sound.closeCodes.at(-1)).toBe(1000);
    expect(saidIn(detail).map(({ isSent }) => isSent)).toEqual([true, false, false]);
  });

  it('judges the handshake, the messages and the end by assertions', async () => {
    const assertions = [
      { source: 'STATUS_CODE', comparison: 'EQUALS', target: '101' },
      { source: 'HEADERS', property: 'Upgrade', comparison: 'EQUALS', target: 'websocket' },
      { source: 'SUBPROTOCOL', comparison: 'EQUALS', target: 'chat.v2' },
      { source: 'JSON_BODY', property: '$[4]', comparison: 'EQUALS', target: 'number 5' },
      { source: 'TEXT_BODY', property: 'number (\\d)$', comparison: 'EQUALS', target: '5' },
      { source: 'MESSAGE_COUNT', comparison: 'EQUALS', target: '5' },
      { source: 'CLOSE_CODE', comparison: 'EQUALS', target: '1000' },
      { source: 'CLOSE_REASON', comparison: 'IS_EMPTY' },
      { source: 'CONNECTION', property: 'ipFamily', comparison: 'EQUALS', target: 'IPv4' },
      { source: 'RESPONSE_TIME', comparison: 'GREATER_THAN', target: '-1' },
    ];
    const steps = Array.from({ length: 5 }, () => expecting());
    const run = await runSocketMonitor({ ...at('/five', ...steps), subprotocols: ['chat.v2'], assertions });
    expect(run.detail.assertions.map(({ error }) => error)).toEqual(assertions.map(() => null));
    const closing = await runSocketMonitor({
      ...at('/gone', { type: 'EXPECT_CLOSE' }),
      assertions: [
        { source: 'CLOSE_CODE', comparison: 'EQUALS', target: '4001' },
        { source: 'CLOSE_REASON', comparison: 'CONTAINS', target: 'gone' },
      ],
    });
    expect([closing.failure, closing.detail.response?.isClosedByTarget]).toEqual([undefined, true]);
    const refused = await runSocketMonitor(
      { ...at('/forbidden'), assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '403' }] },
      { shouldFail: true },
    );
    expect([refused.failure, refused.detail.response?.body]).toEqual([undefined, 'the key is not valid']);
  });

  it.each([
    [
      'a message that does not fit',
      at('/greeting', expecting(text('220 ready'))),
      'DIALOGUE_FAILED',
      'Step 1 (EXPECT): expected TEXT_BODY EQUALS 220 ready, received 220 welcome',
    ],
    [
      'a message that is no JSON',
      at('/greeting', expecting({ source: 'JSON_BODY', property: '$.a', comparison: 'NOT_NULL' })),
      'DIALOGUE_FAILED',
      'Step 1 (EXPECT): expected JSON_BODY $.a NOT_NULL, the message is not JSON',
    ],
    [
      'a close in place of a message',
      at('/gone', sending('hello'), expecting()),
      'DIALOGUE_FAILED',
      'the server closed the conversation with code 4001 (gone for good)',
    ],
    [
      'messages of which none fits',
      at('/five', { ...expecting(text('number 6')), skipOthers: true, timeoutMs: 500 }),
      'RESPONSE_TIMEOUT',
      '; 5 messages did not match, the last one: expected TEXT_BODY EQUALS number 6, received number 5',
    ],
    [
      'a server that does not close',
      at('/greeting', { type: 'EXPECT_CLOSE', timeoutMs: 200 }),
      'RESPONSE_TIMEOUT',
      'Step 1 (EXPECT_CLOSE): timed out after 200 ms while waiting for the server to close',
    ],
    [
      'a refusal',
      at('/forbidden'),
      'STATUS_UNEXPECTED',
      'Unexpected status 403, not 101: the key is not valid',
    ],
    [
      'a redirect',
      at('/elsewhere'),
      'STATUS_UNEXPECTED',
      'Unexpected status 301, not 101: redirects are not followed, ws://127.0.0.1:1/',
    ],
  ] as const)('names the step and what came instead: %s', async (_what, request, code, words) => {
    const { failure, errorMessages, detail } = await runSocketMonitor(request);
    expect(failure?.code).toBe(code);
    expect(errorMessages[0]).toContain(words);
    expect(summaryOf(detail).sections.length).toBeGreaterThan(2);
  });

  it('skips unexpected messages, and keeps early ones', async () => {
    const found = await runSocketMonitor(
      at('/five', { ...expecting(text('number 3')), skipOthers: true }, expecting(text('number 4'))),
    );
    expect(found.failure).toBeUndefined();
    expect(found.detail.steps.map(({ skippedCount }) => skippedCount)).toEqual([2, 0]);
    const pinged = await runSocketMonitor(at('/pinged', expecting(text('pong are you there'))));
    expect([pinged.failure, pinged.detail.response?.pingCount]).toEqual([undefined, 1]);
  });

  it('fills in templates, sends credentials and a trace, and keeps binary data', async () => {
    const context = { variables: { NAME: 'anna', BASE: sound.url, DATA: 'AAH/' } };
    const echo = await runSocketMonitor(
      {
        url: '{{BASE}}/echo?who={{NAME}}',
        headers: [{ key: 'Origin', value: 'https://{{NAME}}.example' }],
        traceparentHosts: ['127.*'],
        steps: [
          sending('{{DATA}}', { isBinary: true }),
          expecting(text('{{DATA}}')),
          sending('I am {{NAME}}'),
          expecting(text('I am {{NAME}}')),
        ],
      },
      { context },
    );
    expect(echo.failure).toBeUndefined();
    expect(echo.detail.response?.messages.map(({ type }) => type)).toEqual([
      'BINARY',
      'BINARY',
      'TEXT',
      'TEXT',
    ]);
    const asked = sound.asked.at(-1);
    expect([asked?.url, asked?.headers.origin]).toEqual(['/echo?who=anna', 'https://anna.example']);
    expect(asked?.headers['sec-websocket-extensions']).toBeUndefined();
    expect(asked?.headers['traceparent']).toBe(echo.detail.request.traceparent);
    const basicAuth = { username: 'anna', password: 'secret' };
    const allowed = await runSocketMonitor({ ...at('/basic'), basicAuth });
    const denied = await runSocketMonitor(at('/basic'));
    expect([allowed.failure, denied.failure?.code]).toEqual([undefined, 'STATUS_UNEXPECTED']);
  });

  it('runs the example of the reference', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/checks.md'), 'utf8');
    const section = page.slice(page.indexOf('## WebSocket monitor'));
    const [, example = ''] = /```json\n(.*?)```/s.exec(section) ?? [];
    const { request } = JSON.parse(example.replace('wss://prices.example.com', sound.url));
    const { failure, detail } = await runSocketMonitor(request, { context: { variables: { TOKEN: 'abc' } } });
    expect(failure).toBeUndefined();
    expect(detail.assertions).toHaveLength(1);
    expect(sound.asked.at(-1)?.headers.authorization).toBe('Bearer abc');
  });

  it('uses a proxy tunnel, and presents a client certificate', async () => {
    const client = { host: 'localhost', ...(await authority.issue({ commonName: 'agent' })) };
    const url = `${secure.url.replace('127.0.0.1', 'localhost')}/greeting`;
    const context = { proxyUrl: proxy.proxyUrl, clientCertificates: [client] };
    const steps = [expecting(text('220 welcome'))];
    const through = await runSocketMonitor({ url, steps }, { context });
    const plain = await runSocketMonitor(at('/greeting', ...steps), { context });
    expect([through.failure, plain.failure]).toEqual([undefined, undefined]);
    expect(through.detail.response?.ipAddress).toBeNull();
    expect(through.detail.response?.certificate?.subject).toBeDefined();
    expect(through.detail.response?.timingPhases.proxy).toBeGreaterThan(0);
    expect(proxy.requests).toEqual([`CONNECT localhost:${secure.port}`, `CONNECT 127.0.0.1:${sound.port}`]);
    const wrong = await runSocketMonitor(at('/greeting'), {
      context: { proxyUrl: proxy.proxyUrl.replace('secret', 'guess') },
    });
    expect(wrong.failure).toMatchObject({ code: 'PROXY_FAILED', owner: 'location' });
  });

  it('ends if the server does not: at its time limit, and at once when it is stopped', async () => {
    await using deaf = await startFramingServer('a pong that nobody asked for');
    await using mute = await startHandshakeServer('nothing');
    const stop = new AbortController();
    const running = runSocketMonitor({ url: mute.url }, { context: { signal: stop.signal } });
    stop.abort();
    expect((await running).failure?.code).toBe('RUN_ABORTED');
    const late = await runSocketMonitor(
      { url: deaf.url, steps: [expecting(), expecting()] },
      { context: { timeoutMs: 1000 } },
    );
    expect(late.failure?.code).toBe('RESPONSE_TIMEOUT');
    expect(late.detail.steps.map(({ state }) => state)).toEqual(['DONE', 'FAILED']);
    expect(late.detail.steps[1]?.waitMs).toBeGreaterThan(0);
  });

  it('keeps the beginning and end of a long conversation', async () => {
    const steps = [{ ...expecting(text('none')), skipOthers: true }];
    const { detail, failure } = await runSocketMonitor(at('/too-many', ...steps));
    expect(failure?.code).toBe('DIALOGUE_FAILED');
    expect(detail.response).toMatchObject({ receivedCount: 1000, omittedCount: 800 });
    expect(detail.response?.messages).toHaveLength(200);
    expect(saidIn(detail)).toHaveLength(201);
  });
});
