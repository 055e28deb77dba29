import { expect, it } from 'vitest';
import { queryDns } from '../../../src/probes/dns/query.ts';
import { queryControls } from '../../helpers/dns/controls.ts';
import {
  a,
  answerTo,
  type Behaviour,
  type DnsTestServer,
  startDnsServer,
} from '../../helpers/dns/dns-server.ts';

const question = { name: 'www.example.test', type: 'A' } as const;
const wrong = a('www.example.test', '203.0.113.66');

async function withServer<Result>(behaviour: Behaviour, use: (server: DnsTestServer) => Promise<Result>) {
  await using server = await startDnsServer(behaviour);
  return await use(server);
}

const askRefused = (server: DnsTestServer, timeoutMs: number) =>
  queryDns(question, server, { protocol: 'UDP' }, queryControls({ timeoutMs })).then(
    () => expect.unreachable('there is no usable answer'),
    (error: unknown) => error as { kind: string; message: string },
  );

it.each([
  [
    'a text',
    () => [Buffer.from('HTTP/1.1 400 Bad Request')],
    /24 bytes beginning with 485454502f312e3120343030/,
  ],
  ['an empty datagram', () => [Buffer.alloc(0)], /0 bytes: /],
  [
    'the first of many texts',
    () => ['first', 'second'].map((text) => Buffer.from(text)),
    /beginning with 6669727374: /,
  ],
] satisfies [string, Behaviour, RegExp][])(
  'names %s if only that arrived',
  async (_what, behaviour, named) => {
    const error = await withServer(behaviour, (server) => askRefused(server, 200));
    expect(error).toMatchObject({
      kind: 'response-malformed',
      message: expect.stringMatching(
        /^the response of 127\.0\.0\.1:\d+ is not a DNS message: .*; nothing else arrived within \d+ ms$/,
      ),
    });
    expect(error.message).toMatch(named);
  },
);

it('reports silence if the readable messages did not match, even after garbage', async () => {
  const error = await withServer(
    (query) => [
      Buffer.from('garbage'),
      answerTo(query, [wrong], { id: ((query.packet.id ?? 0) + 1) % 65_536 }),
    ],
    (server) => askRefused(server, 200),
  );
  expect(error).toMatchObject({ kind: 'response-timeout' });
  expect(error.message).toContain('ignored 2 that did not match (the last one: a different id)');
});
