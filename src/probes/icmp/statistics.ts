import type { EchoAnswer } from './backend.ts';

/** What the answers to a train add up to. */
export interface PingStatistics {
  /** Requests that went out, whatever became of them: one that this host did not send is no loss. */
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
    sent: answers.filter(({ kind }) => kind !== 'unsent').length,
    received: timesMs.length,
    latency: timesMs.length === 0 ? null : latencyOf(timesMs),
  };
}

function latencyOf(timesMs: readonly number[]): Latency {
  const avg = timesMs.reduce((sum, time) => sum + time, 0) / timesMs.length;
  const variance = timesMs.reduce((sum, time) => sum + (time - avg) ** 2, 0) / timesMs.length;
  return { avg, min: Math.min(...timesMs), max: Math.max(...timesMs), stdDev: Math.sqrt(variance) };
}
