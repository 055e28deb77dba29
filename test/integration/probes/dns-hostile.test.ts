import { createSocket } from 'node:dgram';
import { getEventListeners } from 'node:events';
import { createServer } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { type Answer, decode, encode } from 'dns-packet';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { queryDns } from '../../../src/probes/dns/query.ts';
import { createEgressPolicy } from '../../../src/probes/egress/policy.ts';
import { queryControls } from '../../helpers/dns/controls.ts';
import {
  a,
  answerTo,
  type Behaviour,
  type DnsTestServer,
  type ReceivedQuery,
  startDnsServer,
} from '../../helpers/dns/dns-server.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { startSilentTarget } from '../../helpers/targets/hostile-target.ts';
import { type HttpTarget, startHttpsTarget } from '../../helpers/targets/http-target.ts';
import { listen } from '../../helpers/targets/listening.ts';

const question = { name: 'www.example.test', type: 'A' } as const;
const right = a('www.example.test', '192.0.2.1');
const wrong = a('www.example.test', '203.0.113.66');

const withByte = (bytes: Buffer, offset: number, value: number) => {
  bytes.writeUInt8(value, offset);
  return bytes;
};

/** Open network resources of this process. */
const openSockets = () =>
  process
    .getActiveResourcesInfo()
    .filter((name) => /^(TCP|TLS|UDP)/.test(name))
    .sort();

async function withServer<Result>(behaviour: Behaviour, use: (server: DnsTestServer) => Promise<Result>) {
  await using server = await startDnsServer(behaviour);
  return await use(server);
}
const ask = (server: DnsTestServer, timeoutMs = 5000, protocol: 'UDP' | 'TCP' = 'UDP') =>
  queryDns(question, server, { protocol }, queryControls({ timeoutMs }));
const askRefused = (server: DnsTestServer, timeoutMs?: number, protocol?: 'UDP' | 'TCP') =>
  ask(server, timeoutMs, protocol).then(
    () => expect.unreachable('there is no usable answer'),
    (error: unknown) => error as { kind: string; message: string },
  );

describe('a DNS query over UDP', () => {
  it('has a random id and a separate source port, requests recursion and offers EDNS', async () => {
    await withServer(
      (query) => [answerTo(query, [right])],
      async (server) => {
        for (let index = 0; index < 12; index += 1) await ask(server);
        expect(new Set(server.queries.map(({ packet }) => packet.id)).size).toBeGreaterThan(10);
        expect(new Set(server.queries.map(({ sourcePort }) => sourcePort)).size).toBeGreaterThan(10);
        const [query] = server.queries;
        expect(query?.packet).toMatchObject({ flag_rd: true, flag_ad: true, flag_cd: false });
        expect(query?.packet.additionals).toMatchObject([
          { type: 'OPT', udpPayloadSize: 1232, flag_do: false },
        ]);
      },
    );
  });

  it.each([
    ['another id', (query) => answerTo(query, [wrong], { id: ((query.packet.id ?? 0) + 1) % 65_536 })],
    ['another name', (query) => answerTo({ ...query, question: { type: 'A', name: 'evil.test' } }, [wrong])],
    [
      'another type',
      (query) => answerTo({ ...query, question: { type: 'TXT', name: question.name } }, [wrong]),
    ],
    ['no question', (query) => encode({ type: 'response', id: query.packet.id, answers: [wrong] })],
    ['the query itself', (query) => query.bytes],
    ['garbage', () => Buffer.from('not a DNS message at all')],
    ['an empty datagram', () => Buffer.alloc(0)],
    [
      'our id and garbage behind it',
      ({ bytes }) => Buffer.concat([bytes.subarray(0, 2), Buffer.alloc(9, 0xff)]),
    ],
    ['a header alone that says all is well', (query) => answerTo(query, []).subarray(0, 12)],
    [
      'a header alone that says there is no such name',
      (query) => answerTo(query, [], { rcode: 3 }).subarray(0, 12),
    ],
    [
      'a name that does not exist and no question',
      ({ packet }) => encode({ type: 'response', id: packet.id, flags: 3 }),
    ],
    ['an end within its record', (query) => answerTo(query, [wrong]).subarray(0, -2)],
    ['more records than it has', (query) => withByte(answerTo(query, [wrong]), 7, 9)],
    ['a record of another class', (query) => withByte(answerTo(query, [wrong]), 12 + 18 + 4 + 18 + 3, 3)],
  ] satisfies [string, (query: Parameters<Behaviour>[0]) => Buffer][])(
    'ignores a reply with %s and accepts the right one after it',
    async (_name, forged) => {
      const { message } = await withServer((query) => [forged(query), answerTo(query, [right])], ask);
      expect(message.answers.map(({ text }) => text)).toEqual(['192.0.2.1']);
    },
  );

  it('reports what it ignored if nothing better arrived', async () => {
    const error = await withServer(
      (query) => [answerTo({ ...query, question: { type: 'A', name: 'evil.test' } }, [wrong])],
      (server) => askRefused(server, 200),
    );
    expect(error).toMatchObject({ kind: 'response-timeout' });
    expect(error.message).toMatch(
      /no response from 127\.0\.0\.1:\d+ within \d+ ms; ignored 1 .*evil\.test\. A/,
    );
  });

  it('does not receive from another peer, even with the right id and question', async () => {
    const stranger = createSocket('udp4');
    const strangersWord = Promise.withResolvers<void>();
    const { message } = await withServer(async (query) => {
      stranger.send(answerTo(query, [wrong]), query.sourcePort, '127.0.0.1', () => strangersWord.resolve());
      await strangersWord.promise;
      return [answerTo(query, [right])];
    }, ask);
    stranger.close();
    expect(message.answers.map(({ text }) => text)).toEqual(['192.0.2.1']);
  });

  const header = (id: number, answerCount: number) => {
    const bytes = Buffer.alloc(12);
    bytes.writeUInt16BE(id, 0);
    bytes.writeUInt16BE(0x8180, 2);
    bytes.writeUInt16BE(1, 4);
    bytes.writeUInt16BE(answerCount, 6);
    return bytes;
  };
  it.each([
    ['a pointer to itself', Buffer.from([0xc0, 0x0c, 0, 1, 0, 1])],
    ['a pointer forward', Buffer.from([0xc0, 0x30, 0, 1, 0, 1])],
    ['two pointers at each other', Buffer.from([0xc0, 0x0e, 0xc0, 0x0c, 0, 1, 0, 1])],
    ['a label that runs over the end', Buffer.from([0x3f, 0x61])],
    ['a header alone', Buffer.alloc(0)],
  ])('treats a reply with our id and %s as malformed', async (_name, rest) => {
    const error = await withServer(
      ({ packet }) => [Buffer.concat([header(packet.id ?? 0, 0), rest])],
      askRefused,
    );
    expect(error).toMatchObject({ kind: 'response-malformed' });
  });

  it('does not believe that more records follow than do', async () => {
    const error = await withServer(
      (query) => {
        const bytes = answerTo(query, [right]);
        bytes.writeUInt16BE(65_535, 6);
        return [bytes];
      },
      (server) => askRefused(server, 200),
    );
    expect(error).toMatchObject({
      kind: 'response-malformed',
      message: expect.stringMatching(/is not a DNS message: .*; nothing else arrived within \d+ ms$/),
    });
  });

  it('distinguishes a closed port from silence', async () => {
    const gone = await startDnsServer(() => []);
    await gone.close();
    expect(await askRefused(gone)).toMatchObject({ kind: 'connection-refused' });
    const silent = await withServer(
      () => [],
      (server) => askRefused(server, 100),
    );
    expect(silent).toMatchObject({ kind: 'response-timeout' });
  });

  it('is retried without EDNS if the server refuses that', async () => {
    await withServer(
      (query) =>
        query.packet.additionals?.length === 0
          ? [answerTo(query, [right])]
          : [encode({ type: 'response', id: query.packet.id, flags: 1 })],
      async (server) => {
        const { message } = await ask(server);
        expect(message.responseCode).toBe('NOERROR');
        expect(server.queries).toHaveLength(2);
      },
    );
  });

  const bareHeaders: readonly (readonly [string, (bytes: Buffer) => Buffer])[] = [
    ['counts of 0', (bytes) => bytes.fill(0, 4)],
    ['the counts of the query', (bytes) => bytes],
  ];
  describe.each(bareHeaders)('answered with only a header that has %s', (_what, counted) => {
    const bareHeader = ({ bytes }: ReceivedQuery, code: number) => {
      const head = Buffer.from(bytes.subarray(0, 12));
      head.writeUInt16BE(0x8000 | code, 2);
      return counted(head);
    };

    it.each([
      ['FORMERR', 1, 2],
      ['SERVFAIL', 2, 1],
      ['NOTIMP', 4, 2],
      ['REFUSED', 5, 1],
    ])('has the reply %s', async (name, code, queryCount) => {
      for (const protocol of ['UDP', 'TCP'] as const) {
        await withServer(
          (query) => [bareHeader(query, code)],
          async (server) => {
            const { message } = await ask(server, 5000, protocol);
            expect(message).toMatchObject({ responseCode: name, questions: [], answers: [] });
            expect(server.queries).toHaveLength(queryCount);
          },
        );
      }
    });

    it('is retried without EDNS', async () => {
      await withServer(
        (query) =>
          query.packet.additionals?.length === 0 ? [answerTo(query, [right])] : [bareHeader(query, 1)],
        async (server) => expect((await ask(server)).message.responseCode).toBe('NOERROR'),
      );
    });

    it('is retried over TCP if it is truncated', async () => {
      await withServer(
        (query) => [
          query.transport === 'TCP' ? answerTo(query, [right]) : withByte(bareHeader(query, 0), 2, 0x82),
        ],
        async (server) => expect((await ask(server)).isRetriedOverTcp).toBe(true),
      );
    });
  });

  it('names extended response codes', async () => {
    const opt = { type: 'OPT', name: '.', udpPayloadSize: 512, extendedRcode: 1, flags: 0, options: [] };
    const { message } = await withServer(
      (query) => [
        encode({
          type: 'response',
          id: query.packet.id,
          flags: 7,
          questions: [query.question],
          additionals: [opt as unknown as Answer],
        }),
      ],
      ask,
    );
    expect(message.responseCode).toBe('BADCOOKIE');
  });
});

describe('a truncated answer', () => {
  it('is asked for over TCP', async () => {
    await withServer(
      (query) => [
        answerTo(query, query.transport === 'TCP' ? [right] : [], { isTruncated: query.transport === 'UDP' }),
      ],
      async (server) => {
        const reply = await ask(server);
        expect(reply.isRetriedOverTcp).toBe(true);
        expect(reply.message.answers).toHaveLength(1);
        expect(server.queries.map(({ transport }) => transport)).toEqual(['UDP', 'TCP']);
      },
    );
  });

  it('may fill its 65535 bytes', async () => {
    const count = Math.floor((65_535 - 12 - 22) / 32);
    const many = Array.from({ length: count }, (_, index) =>
      a(question.name, `10.0.${index >> 8}.${index & 255}`),
    );
    const { message } = await withServer(
      (query) => [
        answerTo(query, query.transport === 'TCP' ? many : [], { isTruncated: query.transport === 'UDP' }),
      ],
      ask,
    );
    expect(message.answers).toHaveLength(count);
  });
});

describe('a DNS query over TCP', () => {
  it('treats a reply to another question as malformed', async () => {
    const error = await withServer(
      (query) => [answerTo({ ...query, question: { type: 'A', name: 'evil.test' } }, [wrong])],
      (server) => askRefused(server, 5000, 'TCP'),
    );
    expect(error).toMatchObject({ kind: 'response-malformed' });
  });

  it('reads an answer that comes in pieces', async () => {
    const pieces = await listen(
      createServer((socket) => {
        socket.once('data', async (bytes: Buffer) => {
          const packet = decode(bytes.subarray(2));
          const [first = { type: 'A', name: '.' }] = packet.questions ?? [];
          const answer = encode({ type: 'response', id: packet.id, questions: [first], answers: [right] });
          const framed = Buffer.concat([Buffer.from([answer.length >> 8, answer.length & 255]), answer]);
          socket.setNoDelay();
          for (const byte of framed)
            await new Promise<void>((resolve) => socket.write(Buffer.from([byte]), () => resolve()));
        });
      }),
      { scheme: 'dns' },
    );
    const server = { hostname: '127.0.0.1', address: '127.0.0.1', family: 4 as const, port: pieces.port };
    const { message } = await queryDns(question, server, { protocol: 'TCP' }, queryControls());
    expect(message.answers.map(({ text }) => text)).toEqual(['192.0.2.1']);
    await pieces.close();
  });

  it('reports that a server hung up', async () => {
    const closing = await startDnsServer(() => new Promise<never>(() => undefined));
    const asking = askRefused(closing, 5000, 'TCP');
    await closing.received(1);
    await closing.close();
    expect(await asking).toMatchObject({ kind: 'connection-reset' });
  });
});

describe('a DNS query over HTTPS', () => {
  let target: HttpTarget;
  beforeAll(async () => {
    const authority = await createAuthority();
    setDefaultCACertificates([...getCACertificates('default'), authority.cert]);
    target = await startHttpsTarget({ identity: await authority.issue() });
  });
  afterAll(() => target.close());

  it.each([
    ['/status/404', 'HTTP status 404'],
    ['/redirect/1', 'HTTP status 302'],
    ['/echo', 'content type'],
  ])('treats the response of %s as malformed', async (path, reason) => {
    const server = {
      hostname: '127.0.0.1',
      address: '127.0.0.1',
      family: 4 as const,
      port: target.port,
      path,
    };
    const error = await queryDns(question, server, { protocol: 'DOH' }, queryControls()).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ kind: 'response-malformed', message: expect.stringContaining(reason) });
  });
});

describe('the limits of a DNS query', () => {
  it.each(['UDP', 'TCP', 'DOT', 'DOH'] as const)(
    'apply over %s, and leave nothing behind',
    async (protocol) => {
      await vi.waitFor(() => expect(openSockets()).toEqual([]));
      const silent = await startSilentTarget();
      const udp = await startDnsServer(() => []);
      // While it looks for a port that is free for both protocols, a server may close others.
      const servers = ['TCPServerWrap', 'TCPServerWrap', 'UDPWrap'];
      await vi.waitFor(() => expect(openSockets()).toEqual(servers));
      const port = protocol === 'UDP' ? udp.port : silent.port;
      const server = { hostname: '127.0.0.1', address: '127.0.0.1', family: 4 as const, port };
      const controller = new AbortController();
      const query = (timeoutMs: number, signal: AbortSignal) =>
        queryDns(question, server, { protocol }, queryControls({ timeoutMs, signal }));

      await expect(query(100, controller.signal)).rejects.toMatchObject({
        kind: expect.stringMatching(/^(response|connection)-timeout$/),
      });
      const stopped = query(10_000, controller.signal);
      controller.abort(new Error('lease lost'));
      await expect(stopped).rejects.toMatchObject({ kind: 'aborted' });
      await expect(query(10_000, controller.signal)).rejects.toMatchObject({ kind: 'aborted' });
      expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
      await vi.waitFor(() => expect(openSockets()).toEqual(servers));
      await Promise.all([silent.close(), udp.close()]);
    },
  );

  it('include those of the egress policy', async () => {
    await withServer(
      (query) => [answerTo(query, [right])],
      async (server) => {
        const egress = createEgressPolicy({ allow: '', deny: '127.0.0.0/8', ownPorts: [] });
        for (const protocol of ['UDP', 'TCP', 'DOT', 'DOH'] as const) {
          const asking = queryDns(question, server, { protocol }, queryControls({ egress }));
          await expect(asking).rejects.toMatchObject({ kind: 'egress-denied' });
        }
        expect(server.queries).toHaveLength(0);
      },
    );
  });
});
