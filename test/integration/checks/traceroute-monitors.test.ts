import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { beforeAll, expect, it } from 'vitest';
import type { LoadedRunner } from '../../../src/checks/contract/outcome.ts';
import type { RunContext } from '../../../src/checks/contract/run-context.ts';
import { traceroute } from '../../../src/checks/traceroute/check.ts';
import type { TracerouteDetail } from '../../../src/checks/traceroute/detail.ts';
import { TracerouteSpec } from '../../../src/checks/traceroute/spec.ts';
import { systemResolver } from '../../../src/probes/resolver.ts';
import { answerTo, type DnsTestServer, startDnsServer } from '../../helpers/dns/dns-server.ts';
import { runContext } from '../../helpers/run-context.ts';
import { closedPort, startTcpTarget } from '../../helpers/targets/tcp-target.ts';

let runner: LoadedRunner<TracerouteSpec, TracerouteDetail>;
beforeAll(async () => {
  if (!traceroute.load) throw new Error('no runner');
  runner = await traceroute.load();
});

async function run(request: object, context: Partial<RunContext> = {}) {
  const outcome = await runner.run(TracerouteSpec.parse({ request }), runContext(context));
  return { ...outcome, response: outcome.detail.response };
}

/** Names are resolved by that server only. */
const askedOf = (server: DnsTestServer): Partial<RunContext> => ({
  resolver: { resolve: systemResolver.resolve, nameServers: () => [server] },
});

const ptr = (data: string) => ({ type: 'PTR', ttl: 60, data }) as const;

it('has the names of routers by their PTR records, and keeps them', async () => {
  await using server = await startDnsServer((query) => [
    answerTo(query, [{ ...ptr('gateway.test'), name: query.question.name }]),
  ]);
  const request = { url: '127.0.77.1', port: await closedPort(), probesPerHop: 1 };
  for (const _ of [1, 2]) {
    const { response, failure } = await run(request, askedOf(server));
    expect(failure).toBeUndefined();
    expect(response?.hops).toMatchObject([{ mainIp: '127.0.77.1', mainHost: 'gateway.test' }]);
  }
  expect(server.queries.map(({ question }) => question)).toMatchObject([
    { name: '1.77.0.127.in-addr.arpa', type: 'PTR' },
  ]);
  const unnamed = await run({ ...request, url: '127.0.77.2', ptrLookup: false }, askedOf(server));
  expect(unnamed.response?.hops[0]?.mainHost).toBeNull();
  expect(server.queries).toHaveLength(1);
});

it.each([
  ['says nothing', () => []],
  ['answers rubbish', () => [Buffer.from('rubbish')]],
  ['has no name', (query: Parameters<typeof answerTo>[0]) => [answerTo(query, [], { rcode: 3 })]],
])('omits names if the name server %s', async (_how, behaviour) => {
  await using server = await startDnsServer(behaviour);
  const { response, failure } = await run(
    { url: '127.0.77.3', port: await closedPort(), probesPerHop: 1 },
    askedOf(server),
  );
  expect(failure).toBeUndefined();
  expect(response).toMatchObject({ destinationReached: true, hops: [{ mainHost: null }] });
});

it('takes a program on a UDP port for an open port, and no other host for the target', async () => {
  const [program, stranger] = [createSocket('udp4'), createSocket('udp4')];
  program.bind(0, '127.0.0.1');
  stranger.bind(0, '127.0.0.2');
  await Promise.all([once(program, 'listening'), once(stranger, 'listening')]);
  const sizes: number[] = [];
  program.on('message', (data, { port, address }) => {
    sizes.push(data.length);
    // The first reply is from another sender.
    if (sizes.length === 1) stranger.send('hello', port, address);
    else program.send(data, port, address);
  });
  const { port } = program.address() as AddressInfo;
  const { response } = await run({
    ...{ url: '127.0.0.1', protocol: 'UDP', port, probesPerHop: 2 },
    ...{ maxHops: 1, probeTimeoutMs: 200, ptrLookup: false },
  });
  program.close();
  stranger.close();
  expect(sizes).toEqual([32, 32]);
  expect(response).toMatchObject({ destinationReached: true, destinationPort: 'open', packetLoss: 50 });
});

it('sends no more than documented, and at most one empty connection', async () => {
  await using target = await startTcpTarget('silent');
  const { response, measurement } = await run({
    ...{ url: 'localhost', port: target.port, probesPerHop: 4, ptrLookup: false },
    assertions: [{ source: 'PATH', comparison: 'CONTAINS', target: '127.0.0.1' }],
  });
  expect(response).toMatchObject({ destinationPort: 'open', totalHops: 1, packetLoss: 0 });
  expect(response?.hops[0]).toMatchObject({ sent: 4, received: 4, ips: ['127.0.0.1'] });
  expect(measurement?.clock).toBe('kernel');
  await expect.poll(() => target.connectionCount()).toBe(4);
});

it.each(['TCP', 'UDP', 'ICMP'])(
  'counts no reply as missing that waited for a late thread: %s',
  async (protocol) => {
    // The thread is repeatedly busy for longer than the reply timeout.
    const busy = setInterval(() => {
      const end = performance.now() + 600;
      while (performance.now() < end);
    }, 5);
    const port = protocol === 'ICMP' ? null : await closedPort();
    const limits = { probesPerHop: 2, probeTimeoutMs: 500, ptrLookup: false };
    const { response } = await run({ url: '127.0.0.1', protocol, port, ...limits }).finally(() =>
      clearInterval(busy),
    );
    expect(response).toMatchObject({ destinationReached: true, totalHops: 1, packetLoss: 0 });
  },
);

it('applies the egress policy to the port, and judges ICMP without one', async () => {
  const asked: unknown[] = [];
  const egress: RunContext['egress'] = {
    refusal: (destination) => {
      asked.push(destination.port);
      return { message: 'no', rule: 'a rule' };
    },
    lookupRefusal: () => undefined,
  };
  for (const protocol of ['TCP', 'UDP', 'ICMP']) {
    const { failure, response } = await run({ url: '127.0.0.1', protocol }, { egress });
    expect([failure?.code, response]).toEqual(['EGRESS_DENIED', null]);
  }
  expect(asked).toEqual([443, 33_434, undefined]);
});
