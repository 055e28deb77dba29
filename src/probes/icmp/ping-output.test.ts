import { expect, it } from 'vitest';
import { parsePingOutput } from './ping-output.ts';

const train = { address: '10.0.0.1', family: 4, count: 4 } as const;
const parse = (stdout: string, stderr = '') => parsePingOutput(train, { stdout, stderr });

it('reads replies, errors and silence in the order of the requests', () => {
  const answers = parse(`PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.
64 bytes from 10.0.0.1: icmp_seq=2 ttl=63 time=20.4 ms
64 bytes from 10.0.0.1: icmp_seq=1 ttl=63 time=1020 ms
From 10.0.0.254 icmp_seq=4 Destination Host Unreachable

--- 10.0.0.1 ping statistics ---
4 packets transmitted, 2 received, +1 errors, 50% packet loss, time 1513ms
`);
  expect(answers).toEqual([
    { kind: 'reply', sequence: 0, rttMs: 1020, ttl: 63, type: 0, code: 0 },
    { kind: 'reply', sequence: 1, rttMs: 20.4, ttl: 63, type: 0, code: 0 },
    { kind: 'silence', sequence: 2 },
    { kind: 'error', sequence: 3, rttMs: null, type: 3, code: 1, from: '10.0.0.254', mtuBytes: null },
  ]);
});

it('counts neither duplicates nor replies of others', () => {
  const answers = parse(`64 bytes from 10.0.0.1: icmp_seq=1 ttl=63 time=1.5 ms
64 bytes from 10.0.0.1: icmp_seq=1 ttl=63 time=9.9 ms (DUP!)
64 bytes from 10.0.0.9: icmp_seq=2 ttl=63 time=1.5 ms
64 bytes from 10.0.0.1: icmp_seq=9 ttl=63 time=1.5 ms
`);
  expect(answers.map(({ kind }) => kind)).toEqual(['reply', 'silence', 'silence', 'silence']);
  expect(answers[0]).toMatchObject({ rttMs: 1.5 });
});

it('does not take for lost what was not sent', () => {
  const answers = parse(
    '64 bytes from 10.0.0.1: icmp_seq=1 ttl=63 time=1.5 ms\n',
    'ping: sendmsg: Network is unreachable\nping: sendmsg: Operation not permitted\n',
  );
  expect(answers.map((answer) => (answer.kind === 'unsent' ? answer.errno : answer.kind))).toEqual([
    'reply',
    'silence',
    'ENETUNREACH',
    'EPERM',
  ]);
});

it('counts nothing as sent when it could not begin', () => {
  const answers = parse('', 'ping: connect: Network is unreachable\n');
  expect(answers).toHaveLength(4);
  for (const answer of answers) expect(answer).toMatchObject({ kind: 'unsent', errno: 'ENETUNREACH' });
});

it.each([
  [4, 'Packet filtered', 3, 13],
  [4, 'Time to live exceeded', 11, 0],
  [4, 'Destination Net Unreachable for Type of Service', 3, 11],
  [4, 'Frag needed and DF set (mtu = 1400)', 3, 4],
  [6, 'Destination unreachable: Administratively prohibited', 1, 1],
  [6, 'Time exceeded: Hop limit', 3, 0],
  [6, 'Packet too big: mtu=1400', 2, 0],
] as const)('knows the type and code of IPv%i "%s"', (family, words, type, code) => {
  const from = family === 4 ? '10.0.0.254' : 'fd00::fe';
  const [answer] = parsePingOutput(
    { ...train, family, count: 1 },
    { stdout: `From ${from} icmp_seq=1 ${words}\n`, stderr: '' },
  );
  expect(answer).toMatchObject({ kind: 'error', type, code, from });
  if (words.includes('mtu')) expect(answer).toMatchObject({ mtuBytes: 1400 });
});
