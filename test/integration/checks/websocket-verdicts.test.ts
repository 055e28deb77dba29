import { setDefaultCACertificates } from 'node:tls';
import { afterAll, describe, expect, it } from 'vitest';
import { warmUp } from '../../../src/checks/websocket/run.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { closedPort } from '../../helpers/targets/tcp-target.ts';
import {
  floods,
  handshakes,
  hostileFrames,
  startFloodingServer,
  startFramingServer,
  startHandshakeServer,
} from '../../helpers/websocket/hostile-server.ts';
import { type SocketExchange, type SocketVerdict, talkAsPeer } from '../../helpers/websocket/socket-peer.ts';
import { startSocketServer } from '../../helpers/websocket/socket-server.ts';
import { runSocketMonitor, verdictOf } from '../../helpers/websocket/socket-stage.ts';

const authority = await createAuthority();
const stranger = await createAuthority('Somebody else');
setDefaultCACertificates([authority.cert]);
await warmUp();

const sound = await startSocketServer();
const secure = await startSocketServer({ identity: await authority.issue() });
const strange = await startSocketServer({ identity: await stranger.issue() });
const otherName = await startSocketServer({ identity: await authority.issue({ hosts: ['other.example'] }) });
const wanting = await startSocketServer({
  identity: await authority.issue(),
  clientAuthority: stranger.cert,
});
const choosing = await startSocketServer({ subprotocols: ['mqtt', 'soap'] });
const compressing = await startSocketServer({ isCompressing: true });
const closed = await closedPort();
const open = new Set<{ close(): Promise<void> }>([
  ...[sound, secure, strange, otherName, wanting, choosing, compressing],
]);
afterAll(async () => {
  await Promise.all([...open].map((one) => one.close()));
});

type Compared = Partial<SocketExchange> & {
  readonly start?: () => Promise<{ readonly url: string; close(): Promise<void> }>;
};

const byLocalhost = (url: string) => url.replace('127.0.0.1', 'localhost');
const at = (path: string, rest: Compared = {}): Compared => ({ url: `${sound.url}${path}`, ...rest });

const compared: Record<string, Compared> = {
  'the handshake alone': at('/echo', { wanted: 0 }),
  'an echo': at('/echo', { send: 'hello' }),
  'an echo of binary data': at('/echo', { send: Buffer.from([0, 255, 7]) }),
  'an echo of 70 kB': at('/echo', { send: 'x'.repeat(70_000) }),
  'an echo of 300 bytes': at('/echo', { send: 'é'.repeat(150) }),
  'a greeting': at('/greeting'),
  'five messages': at('/five', { wanted: 5 }),
  'two of five messages': at('/five', { wanted: 2 }),
  'six of five messages': at('/five', { wanted: 6, timeoutMs: 600 }),
  'a close with a code of its own': at('/gone'),
  'a message and a close': at('/bye', { wanted: 2 }),
  'a server that goes away': at('/away'),
  'a close without a code': at('/without-code'),
  'a connection that is cut': at('/cut'),
  'a binary message': at('/binary'),
  'an empty message': at('/empty'),
  'a message in three parts': at('/parts'),
  'a server that pings first': at('/pinged'),
  'a message of 900 kB': at('/large'),
  'a message that is too large': at('/too-large'),
  silence: at('/silent', { timeoutMs: 300 }),
  'status 403': at('/forbidden'),
  'status 401': at('/unauthorized'),
  'a redirect': at('/elsewhere'),
  'status 503': at('/broken'),
  'a subprotocol': at('/greeting', { subprotocols: ['graphql-ws'] }),
  'the second subprotocol': { url: `${choosing.url}/greeting`, subprotocols: ['chat', 'soap'] },
  'no subprotocol in common': { url: `${choosing.url}/greeting`, subprotocols: ['chat'] },
  'a server that would compress': { url: `${compressing.url}/echo`, send: 'x'.repeat(5000) },
  TLS: { url: byLocalhost(`${secure.url}/echo`), send: 'hello' },
  'TLS of a stranger': { url: byLocalhost(`${strange.url}/echo`), send: 'hello' },
  'TLS for another name': { url: byLocalhost(`${otherName.url}/echo`), send: 'hello' },
  'TLS that wants a certificate': { url: byLocalhost(`${wanting.url}/echo`), send: 'hello' },
  'TLS where none is spoken': { url: `${sound.url.replace('ws:', 'wss:')}/echo`, send: 'hello' },
  'plain text where TLS is spoken': { url: `${secure.url.replace('wss:', 'ws:')}/echo`, send: 'hello' },
  nobody: { url: `ws://127.0.0.1:${closed}/` },
  ...asEach(hostileFrames, startFramingServer, (name) => (name === 'half a frame' ? { timeoutMs: 300 } : {})),
  ...asEach(handshakes, startHandshakeServer, (name) => ({
    wanted: 0,
    ...(name === 'nothing' && { timeoutMs: 300 }),
  })),
  ...asEach(floods, startFloodingServer, () => ({ timeoutMs: 5000 })),
};

/** Servers of a table, one for each of its entries. */
function asEach<Name extends string>(
  table: Readonly<Record<Name, unknown>>,
  start: (name: Name) => Promise<{ readonly url: string; close(): Promise<void> }>,
  more: (name: Name) => Compared,
): Record<string, Compared> {
  const names = Object.keys(table) as Name[];
  return Object.fromEntries(names.map((name) => [name, { start: () => start(name), ...more(name) }]));
}

/** Cases where the two clients disagree: the other client's verdict, and the reason. */
const differences: Record<string, readonly [theirs: Partial<SocketVerdict>, why: string]> = {
  'a length that is too long by two bytes': [
    { messages: ['hello'], end: 1000 },
    'it takes what browsers refuse',
  ],
  'a length that is too long by eight bytes': [
    { messages: ['hello'], end: 1000 },
    'it takes what browsers refuse',
  ],
  'no upgrade': [{ handshake: 101 }, 'it takes what is no switch for a refusal'],
  'no connection header': [{ handshake: 101 }, 'it takes what is no switch for a refusal'],
  'pings without end': [{ end: 1006 }, 'it leaves without a word once its pongs wait'],
};
/** The part of a message that a result keeps. */
const keptLetters = 16 * 1024;

describe('conversations by this program and by the client of ws', () => {
  it.each(Object.entries(compared))('%s', async (name, { start, ...talk }) => {
    const target = await start?.();
    if (target) open.add(target);
    const { url = target?.url ?? '', send, subprotocols = [], wanted = 1, timeoutMs = 3000 } = talk;
    const sending = send === undefined ? [] : [messageOf(send)];
    const expecting = Array.from({ length: wanted }, () => ({ type: 'EXPECT', timeoutMs }));
    const ours = await runSocketMonitor(
      { url, subprotocols, steps: [...sending, ...expecting] },
      { context: { timeoutMs: timeoutMs + 500 } },
    );
    const theirs = await talkAsPeer({ ...talk, url, wanted, timeoutMs });
    const verdict = verdictOf(ours);
    const messages = theirs.messages.map((text) => text.slice(0, keptLetters));
    expect({ ...verdict, ...differences[name]?.[0] }).toEqual({ ...theirs, messages });
    // A check fails exactly if the conversation fails, and the owner is the target.
    const isWell =
      verdict.handshake === 'open' && verdict.messages.length === wanted && typeof verdict.end === 'number';
    expect(ours.failure === undefined).toBe(isWell);
    expect(ours.failure?.owner ?? 'target').toBe('target');
  });
});

function messageOf(data: string | Buffer): Record<string, unknown> {
  if (typeof data === 'string') return { type: 'SEND', message: data };
  return { type: 'SEND', message: data.toString('base64'), isBinary: true };
}
