/** The target answered. */
export interface EchoReply {
  readonly kind: 'reply';
  readonly sequence: number;
  readonly rttMs: number;
  /** Time to live, or hop limit, of the reply; null when the system does not say. */
  readonly ttl: number | null;
  readonly type: number;
  readonly code: number;
}

/** The network answered in the target's place: unreachable, prohibited, time exceeded, packet too big. */
export interface EchoError {
  readonly kind: 'error';
  readonly sequence: number;
  /** Time until that answer, in milliseconds. */
  readonly rttMs: number;
  readonly type: number;
  readonly code: number;
  /** The host or router that sent the error; null when the system does not say. */
  readonly from: string | null;
  /** The largest packet that fits, in bytes, when that was the problem. */
  readonly mtuBytes: number | null;
}

/** Nobody answered in time. */
export interface EchoSilence {
  readonly kind: 'silence';
  readonly sequence: number;
  /** What came that looked like an answer and does not count as one, in words. */
  readonly remark?: string | undefined;
}

/** This host did not send the request: it says nothing about the target. */
export interface EchoUnsent {
  readonly kind: 'unsent';
  readonly sequence: number;
  /** Name of the system's error, such as `ENETUNREACH`. */
  readonly errno: string;
}

export type EchoAnswer = EchoReply | EchoError | EchoSilence | EchoUnsent;

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

/** What a send says then. Asked again it may say something else, but that would be another packet. */
export const firewallErrno = 'EPERM';

function latencyOf(timesMs: readonly number[]): Latency {
  const avg = timesMs.reduce((sum, time) => sum + time, 0) / timesMs.length;
  const variance = timesMs.reduce((sum, time) => sum + (time - avg) ** 2, 0) / timesMs.length;
  return { avg, min: Math.min(...timesMs), max: Math.max(...timesMs), stdDev: Math.sqrt(variance) };
}
