import { setDefaultCACertificates } from 'node:tls';
import { afterAll, describe, expect, it } from 'vitest';
import { warmUp } from '../../../src/checks/grpc/run.ts';
import { askPeer, type PeerCall } from '../../helpers/grpc/grpc-peer.ts';
import {
  type GrpcServerOptions,
  health,
  orders,
  protoText,
  startGrpcServer,
} from '../../helpers/grpc/grpc-server.ts';
import { asGet, asHealth, runGrpcMonitor } from '../../helpers/grpc/grpc-stage.ts';
import {
  misdeeds,
  noises,
  shapes,
  startMisbehavingServer,
  startNoisyServer,
  startShapedServer,
} from '../../helpers/grpc/hostile-server.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { closedPort } from '../../helpers/targets/tcp-target.ts';

const authority = await createAuthority();
const stranger = await createAuthority('Somebody else');
const identity = await authority.issue();
setDefaultCACertificates([authority.cert]);
await warmUp();

interface Served {
  readonly port: number;
  close?(): Promise<void>;
}
const served: Served[] = [];
afterAll(() => Promise.all(served.map((one) => one.close?.())));
async function kept<One extends Served>(starting: Promise<One>): Promise<One> {
  const one = await starting;
  served.push(one);
  return one;
}

/** The expected statuses where the other client and this program disagree, and the reason. */
type Difference = readonly [ours: number, theirs: number, why: string];
interface Compared {
  readonly start: () => Promise<Served>;
  readonly config: Record<string, unknown>;
  readonly request?: Record<string, unknown>;
  readonly peer: Pick<PeerCall, 'service' | 'method' | 'request' | 'isStream' | 'tls'>;
  readonly timeoutMs?: number;
}

const asked = { service: health, method: 'Check', request: { service: '' } };
const got = (id: string) => ({ service: orders, method: 'Get', request: { id } });
const listed = (id: string) => ({ service: orders, method: 'List', request: { id }, isStream: true });
const withId = (id: string, rest: object = {}) => ({ ...asGet, message: JSON.stringify({ id }), ...rest });
const file = { serviceDefinition: 'PROTO_FILE', protoContent: protoText('shop') };
const list = (id: string) => withId(id, { method: 'shop.v1.Orders/List', ...file });
const secure =
  (options: GrpcServerOptions = {}) =>
  () =>
    startGrpcServer({ identity, ...options });
const trusted = { roots: authority.cert, name: 'localhost' };

const slow = new Set<string>([
  'two messages',
  'sends messages without end',
  'says nothing',
  'sends one message without end',
  'never says a word',
  'sends a frame of 16 megabytes',
  'sends settings without end',
  'sends pings without end',
]);

/** Servers that break the rules and get a different verdict, on purpose or because the peer is lenient. */
const differences: Record<string, Difference> = {
  'a status that is a word': [2, Number.NaN, 'it takes the word for a number'],
  'two messages': [12, 4, 'it waits for its deadline'],
  'another content type': [2, 0, 'it does not look at the content type'],
  'a page': [2, 8, 'it takes the page for a message'],
  'a message that is cut': [13, 12, 'it does not see that the message has begun'],
  'a prefix that is cut': [13, 12, 'it does not see that the message has begun'],
  'a server that sends messages without end': [12, 4, 'it waits for its deadline'],
  'a server that sends a frame of 16 megabytes': [13, 14, 'it does not say that a rule was broken'],
  'a server that sends headers that are too large': [
    14,
    13,
    'it sets no limit, and the server keeps to ours',
  ],
};

/** Servers that receive health checks, one for each entry of a table. */
function asEach<Name extends string>(
  table: Readonly<Record<Name, unknown>>,
  titleOf: (name: Name) => string,
  start: (name: Name) => Promise<Served>,
  timeoutMs: number,
): Record<string, Compared> {
  return Object.fromEntries(
    (Object.keys(table) as Name[]).map((name) => [
      titleOf(name),
      {
        start: () => start(name),
        ...{ config: asHealth, peer: asked },
        timeoutMs: slow.has(name) ? 500 : timeoutMs,
      },
    ]),
  );
}

const compared: Record<string, Compared> = {
  'a service that serves': { start: startGrpcServer, config: asHealth, peer: asked },
  'a service that is closed': {
    start: startGrpcServer,
    config: { ...asHealth, service: 'closed' },
    peer: { ...asked, request: { service: 'closed' } },
  },
  'a service that nobody knows': {
    start: startGrpcServer,
    config: { ...asHealth, service: 'nobody' },
    peer: { ...asked, request: { service: 'nobody' } },
  },
  'no health service': { start: () => startGrpcServer({ hasHealth: false }), config: asHealth, peer: asked },
  'an order by reflection': { start: startGrpcServer, config: withId('one'), peer: got('one') },
  'an order by v1alpha': {
    start: () => startGrpcServer({ reflection: ['v1alpha'] }),
    config: withId('one'),
    peer: got('one'),
  },
  'an order by a file': { start: startGrpcServer, config: withId('one', file), peer: got('one') },
  ...Object.fromEntries(
    Array.from({ length: 16 }, (_, index) => [
      `status ${index + 1}`,
      {
        start: startGrpcServer,
        config: withId(`code-${index + 1}`, file),
        peer: got(`code-${index + 1}`),
      },
    ]),
  ),
  'a large message': { start: startGrpcServer, config: withId('large', file), peer: got('large') },
  'a message that is too large': {
    start: startGrpcServer,
    config: withId('too-large', file),
    peer: got('too-large'),
  },
  'no answer': { start: startGrpcServer, config: withId('never', file), peer: got('never'), timeoutMs: 400 },
  'a stream of nothing': { start: startGrpcServer, config: list('0'), peer: listed('0') },
  'a stream of five': { start: startGrpcServer, config: list('5'), peer: listed('5') },
  'a stream that breaks': { start: startGrpcServer, config: list('broken'), peer: listed('broken') },
  TLS: {
    start: secure(),
    config: { ...withId('one'), tls: true },
    request: { serverName: 'localhost' },
    peer: { ...got('one'), tls: trusted },
  },
  'TLS of a stranger': {
    start: async () => await startGrpcServer({ identity: await stranger.issue() }),
    config: { ...withId('one'), tls: true },
    request: { serverName: 'localhost' },
    peer: { ...got('one'), tls: trusted },
    timeoutMs: 1000,
  },
  'TLS for another name': {
    start: async () =>
      await startGrpcServer({ identity: await authority.issue({ hosts: ['other.example'] }) }),
    config: { ...withId('one'), tls: true },
    request: { serverName: 'localhost' },
    peer: { ...got('one'), tls: trusted },
    timeoutMs: 1000,
  },
  'TLS that wants a certificate': {
    start: secure({ clientAuthority: authority.cert }),
    config: { ...withId('one'), tls: true },
    request: { serverName: 'localhost' },
    peer: { ...got('one'), tls: trusted },
    timeoutMs: 1000,
  },
  nobody: {
    start: async () => ({ port: await closedPort() }),
    config: asHealth,
    peer: asked,
    timeoutMs: 1000,
  },
  ...asEach(shapes, (name) => name, startShapedServer, 5000),
  ...asEach(misdeeds, (name) => `a server that ${name}`, startMisbehavingServer, 3000),
  ...asEach(noises, (name) => `a server that ${name}`, startNoisyServer, 1000),
};

describe('calls by this program and by the client of @grpc/grpc-js', () => {
  it.each(Object.entries(compared))(
    '%s',
    async (name, { start, config, request = {}, peer, timeoutMs = 5000 }) => {
      const target = await kept(start());
      const ours = await runGrpcMonitor(target, config, { request, context: { timeoutMs } });
      const theirs = await askPeer({ ...peer, port: target.port, timeoutMs, maxBytes: 1024 * 1024 });
      const { response } = ours.detail;
      const [code, theirCode] = differences[name] ?? [theirs.code, theirs.code];
      expect([response?.grpcStatusCode, theirs.code]).toEqual([code, theirCode]);
      // A check fails exactly if the call fails, except that a monitor also evaluates the health status.
      const isServing = response?.healthStatusLabel === null || response?.healthStatusLabel === 'SERVING';
      expect(ours.failure === undefined).toBe(response?.grpcStatusCode === 0 && isServing);
      if (code === 0 && theirCode === 0 && !peer.isStream) {
        expect(theirs.answers).toHaveLength(1);
        if (peer.method === 'Check') expect(response?.healthStatusLabel).toBe(theirs.answers[0]?.['status']);
      }
      if (peer.isStream) expect(response?.messageCount).toBe(theirs.answers.length);
    },
  );
});
