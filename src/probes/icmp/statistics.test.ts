import { expect, it } from 'vitest';
import type { EchoAnswer } from './echo/answers.ts';
import { pingStatistics } from './statistics.ts';

const reply = (rttMs: number): EchoAnswer => ({
  kind: 'reply',
  sequence: 0,
  rttMs,
  ttl: 64,
  type: 0,
  code: 0,
});

it('counts replies, and ignores what was not sent', () => {
  const answers: EchoAnswer[] = [
    reply(2),
    reply(4),
    reply(4),
    reply(6),
    { kind: 'silence', sequence: 4 },
    { kind: 'error', sequence: 5, rttMs: 1, type: 3, code: 1, from: '10.0.0.1', mtuBytes: null },
    { kind: 'unsent', sequence: 6, errno: 'ENETUNREACH' },
    // The firewall of this host: a loss, as in ping.
    { kind: 'unsent', sequence: 7, errno: 'EPERM' },
  ];
  const { sent, received, latency } = pingStatistics(answers);
  expect([sent, received]).toEqual([7, 4]);
  expect(latency).toEqual({ avg: 4, min: 2, max: 6, stdDev: Math.SQRT2 });
});

it('has no latency without a reply', () => {
  expect(pingStatistics([])).toEqual({ sent: 0, received: 0, latency: null });
});
