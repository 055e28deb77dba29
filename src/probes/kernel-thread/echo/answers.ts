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

/** What a send says when the firewall of this host drops the packet. Asked again it may say something else, but that would be another packet. */
export const firewallErrno = 'EPERM';
