import { createSocket, type Socket } from 'node:dgram';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { decode, encode, RECURSION_DESIRED } from 'dns-packet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OutboundHttp } from '../../../src/platform/outbound/outbound-http.ts';
import { ReceiverNames } from '../../../src/platform/outbound/receiver-names.ts';
import { createEgressPolicy } from '../../../src/probes/egress/policy.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';

const folder = temporaryFolder();
const hosts = join(folder.path, 'hosts');
const server = createServer((_request, response) => response.end('ok'));
let dns: Socket;
let names: ReceiverNames;

/** Silence for silent.test, an address for good.test, NXDOMAIN for any other name. */
beforeAll(async () => {
  dns = createSocket('udp4');
  dns.on('message', (message, { port, address }) => {
    const { id, questions = [] } = decode(message);
    const [question] = questions;
    if (!question || question.name.endsWith('silent.test')) return;
    const isGood = question.name === 'good.test' && question.type === 'A';
    const answer = encode({
      type: 'response',
      id: id ?? 0,
      // 3: NXDOMAIN.
      flags: RECURSION_DESIRED | (question.name === 'good.test' ? 0 : 3),
      questions,
      answers: isGood ? [{ type: 'A', name: 'good.test', ttl: 1, data: '127.0.0.1' }] : [],
    });
    dns.send(answer, port, address);
  });
  await new Promise<void>((resolve) => dns.bind(0, '127.0.0.1', resolve));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  writeFileSync(hosts, '# none\n127.0.0.1 Listed.test other\nbroken\n::1 listed.test # twice\n');
  names = new ReceiverNames([`127.0.0.1:${dns.address().port}`], hosts);
});
afterAll(() => {
  dns.close();
  server.close();
  folder.remove();
});

describe('names of receivers', () => {
  it("are resolved by the hosts file, the name server, and the system's rules", async () => {
    expect(await names.addressesOf('LISTED.test')).toEqual([
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ]);
    expect(await names.addressesOf('good.test')).toEqual([{ address: '127.0.0.1', family: 4 }]);
    expect((await names.addressesOf('localhost')).map(({ address }) => address)).toContain('127.0.0.1');
    await expect(names.addressesOf('absent.test')).rejects.toMatchObject({ syscall: 'getaddrinfo' });
  });

  it('that no server resolves do not delay others', async () => {
    const policy = createEgressPolicy({ allow: '127.0.0.1', deny: '', ownPorts: [] });
    const outbound = new OutboundHttp(policy, { names });
    const port = (server.address() as AddressInfo).port;
    const send = (name: string) =>
      outbound.send({ url: `http://${name}:${port}/`, method: 'POST', headers: [], body: '' });
    const ends: string[] = [];
    const hostile = Array.from({ length: 16 }, async (_, index) => {
      const { isDelivered } = await send(`n${index}.silent.test`);
      ends.push('silent');
      expect(isDelivered).toBe(false);
    });
    expect(await send('good.test')).toMatchObject({ isDelivered: true });
    ends.push('good');
    await Promise.all(hostile);
    expect(ends[0]).toBe('good');
    await outbound.close();
  }, 180_000);
});
