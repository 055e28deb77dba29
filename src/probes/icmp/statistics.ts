import { type EchoAnswer, type EchoUnsent, firewallErrno } from './echo/answers.ts';

/** Summary of the answers to a train. */
export interface PingStatistics {
  /**
   * Requests that were sent, plus those that this host's own firewall dropped, which count as lost packets, as in ping.
   * Requests that this host could not send for another reason are not included.
   */
  readonly sent: number;
  readonly received: number;
  /** Round trip times of the replies, in milliseconds; null without replies. */
  readonly latency: Latency | null;
}

/** In milliseconds. The deviation is that of the population, as `mdev` in ping. */
export interface Latency {
  readonly avg: number;
  readonly min: number;
  readonly max: number;
  readonly stdDev: number;
}

export function pingStatistics(answers: readonly EchoAnswer[]): PingStatistics {
  const timesMs = answers.flatMap((answer) => (answer.kind === 'reply' ? [answer.rttMs] : []));
  return {
    sent: answers.filter((answer) => answer.kind !== 'unsent' || isDroppedHere(answer)).length,
    received: timesMs.length,
    latency: timesMs.length === 0 ? null : latencyOf(timesMs),
  };
}

/** Returns whether the firewall of this host dropped an outgoing request. */
export function isDroppedHere({ errno }: EchoUnsent): boolean {
  return errno === firewallErrno;
}

function latencyOf(timesMs: readonly number[]): Latency {
  const avg = timesMs.reduce((sum, time) => sum + time, 0) / timesMs.length;
  const variance = timesMs.reduce((sum, time) => sum + (time - avg) ** 2, 0) / timesMs.length;
  return { avg, min: Math.min(...timesMs), max: Math.max(...timesMs), stdDev: Math.sqrt(variance) };
}
