import { createServer, type Socket } from 'node:net';
import { type Answer, decode, encode } from 'dns-packet';
import { describe, expect, it } from 'vitest';
import { queryDns } from '../../../src/probes/dns/query.ts';
import { queryControls } from '../../helpers/dns/controls.ts';
import { a, answerTo, type Behaviour, startDnsServer } from '../../helpers/dns/dns-server.ts';
import { listen } from '../../helpers/targets/listening.ts';

const question = { name: 'www.example.test', type: 'A' } as const;
const right = a('www.example.test', '192.0.2.1');

async function ask(behaviour: Behaviour, protocol: 'UDP' | 'TCP' = 'UDP', timeoutMs = 5000) {
  await using server = await startDnsServer(behaviour);
  try {
    const reply = await queryDns(question, server, { protocol }, queryControls({ timeoutMs }));
    return { reply, transports: server.queries.map(({ transport }) => transport) };
  } catch (thrown) {
    return { error: thrown as { kind: string; message: string } };
  }
}

/** Changes one byte of a reply. */
const changed = (bytes: Buffer, offset: number, value: number) => {
  bytes.writeUInt8(value, offset);
  return bytes;
};
/** Offset of the first record: after the header and the question. */
const recordOffset = 12 + 18 + 4;

describe('a truncated answer', () => {
  const long = Array.from({ length: 30 }, (_, index) => a('www.example.test', `192.0.2.${index}`));

  it.each([
    ['within the data of a record', 500],
    ['within the head of a record', recordOffset + 4],
    ['within the name of a record', recordOffset + 1],
    ['after its question', recordOffset],
    ['within its question', 20],
    ['after its header', 12],
  ])('that is cut off %s is requested over TCP', async (_where, sizeBytes) => {
    const { reply, transports } = await ask((query) =>
      query.transport === 'TCP'
        ? [answerTo(query, long)]
        : [answerTo(query, long, { isTruncated: true }).subarray(0, sizeBytes)],
    );
    expect(reply?.message.answers).toHaveLength(long.length);
    expect(transports).toEqual(['UDP', 'TCP']);
  });

  it('that is cut off without the flag is malformed', async () => {
    const { error } = await ask((query) => [answerTo(query, long).subarray(0, 500)], 'UDP', 200);
    expect(error).toMatchObject({ kind: 'response-malformed' });
  });
});

describe('an answer', () => {
  it.each([
    ['an A record of 3 bytes', changed, recordOffset + 18 + 9, 3],
    ['an A record of 5 bytes', changed, recordOffset + 18 + 9, 5],
    ['a record that is longer than the message', changed, recordOffset + 18 + 8, 1],
    ['a record of the class CH', changed, recordOffset + 18 + 3, 3],
  ])('with %s is malformed', async (_what, change, offset, value) => {
    const { error } = await ask(
      (query) => [change(answerTo(query, [right, right]), offset, value)],
      'UDP',
      200,
    );
    expect(error).toMatchObject({ kind: 'response-malformed' });
  });

  it.each([
    ['a mail exchange', { type: 'MX', name: question.name, data: { preference: 1, exchange: 'm.test' } }],
    ['an alias', { type: 'CNAME', name: question.name, data: 'm.test' }],
    ['text', { type: 'TXT', name: question.name, data: 'abc' }],
    ['an authority', { type: 'NS', name: question.name, data: 'ns.test' }],
  ] satisfies [string, Answer][])(
    'with %s that does not fit its length is malformed',
    async (_what, record) => {
      const { error } = await ask(
        (query) => {
          const bytes = answerTo(query, [record]);
          const at = recordOffset + 18 + 9;
          return [Buffer.concat([changed(bytes, at, (bytes[at] ?? 0) + 1), Buffer.alloc(1, 5)])];
        },
        'UDP',
        200,
      );
      expect(error).toMatchObject({ kind: 'response-malformed' });
    },
  );

  it.each([
    ['another class', (bytes: Buffer) => changed(bytes, recordOffset - 1, 3), /the class 3/],
    ['another operation', (bytes: Buffer) => changed(bytes, 2, (bytes[2] ?? 0) | 0x28), /its opcode is 5/],
  ])('to %s of question does not count', async (_what, change, reason) => {
    const behaviour: Behaviour = (query) => [change(answerTo(query, [right]))];
    const { error } = await ask(behaviour, 'UDP', 200);
    expect(error).toMatchObject({ kind: 'response-timeout', message: expect.stringMatching(reason) });
    const { error: overTcp } = await ask(behaviour, 'TCP');
    expect(overTcp).toMatchObject({ kind: 'response-malformed', message: expect.stringMatching(reason) });
  });
});

describe('a connection that breaks off', () => {
  const cuts: readonly (readonly [string, (socket: Socket, answer: Buffer) => void])[] = [
    [
      'reset in the middle of the answer',
      (socket, answer) => socket.write(answer.subarray(0, 20), () => socket.resetAndDestroy()),
    ],
    ['closed in the middle of the answer', (socket, answer) => socket.end(answer.subarray(0, 20))],
    ['reset before the answer', (socket) => socket.resetAndDestroy()],
    ['closed before the answer', (socket) => socket.end()],
  ];

  /** Breaks off `count` connections, and replies on later ones. */
  async function withCuts(count: number, cut: (socket: Socket, answer: Buffer) => void) {
    let left = count;
    await using server = await listen(
      createServer((socket) => {
        socket.once('data', (bytes: Buffer) => {
          const { id, questions = [] } = decode(bytes.subarray(2));
          const message = encode({ type: 'response', id, questions, answers: [right] });
          const answer = Buffer.concat([Buffer.from([0, message.length]), message]);
          left -= 1;
          if (left >= 0) cut(socket, answer);
          else socket.end(answer);
        });
      }),
      { scheme: 'dns' },
    );
    const named = { hostname: server.host, address: server.host, family: 4 as const, port: server.port };
    const asking = queryDns(question, named, { protocol: 'TCP' }, queryControls());
    return await asking.then(
      ({ message }) => message.answers.map(({ text }) => text),
      (error: { kind: string }) => error.kind,
    );
  }

  it.each(cuts)('is made again if it was %s, once', async (_how, cut) => {
    expect(await withCuts(1, cut)).toEqual(['192.0.2.1']);
    expect(await withCuts(2, cut)).toBe('connection-reset');
  });
});
