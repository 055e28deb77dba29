import { type EchoAnswer, type EchoUnsent, firewallErrno } from '../kernel-thread/echo/answers.ts';

/** What the answers to a train add up to. */
export interface PingStatistics {
  /**
   * Requests that went out, whatever became of them, and those that this host's own firewall dropped: a packet loss, as
   * ping counts it. One that this host could not send is none.
   */
  readonly sent: number;
  readonly received: number;
  /** Round trip times of the replies, in milliseconds; null without one. */
  readonly latency: Latency | null;
}

/** In milliseconds. The deviation is that of the population, as the `mdev` of ping. */
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

/** Whether the firewall of this host dropped a request on its way out. */
export function isDroppedHere({ errno }: EchoUnsent): boolean {
  return errno === firewallErrno;
}

function latencyOf(timesMs: readonly number[]): Latency {
  const avg = timesMs.reduce((sum, time) => sum + time, 0) / timesMs.length;
  const variance = timesMs.reduce((sum, time) => sum + (time - avg) ** 2, 0) / timesMs.length;
  return { avg, min: Math.min(...timesMs), max: Math.max(...timesMs), stdDev: Math.sqrt(variance) };
}
