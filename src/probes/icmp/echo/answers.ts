/** The target replied. */
export interface EchoReply {
  readonly kind: 'reply';
  readonly sequence: number;
  readonly rttMs: number;
  /** Time to live or hop limit of the reply; null if the system does not report it. */
  readonly ttl: number | null;
  readonly type: number;
  readonly code: number;
}

/** The network responded instead of the target: unreachable, prohibited, time exceeded, packet too big. */
export interface EchoError {
  readonly kind: 'error';
  readonly sequence: number;
  /** Time until that response, in milliseconds. */
  readonly rttMs: number;
  readonly type: number;
  readonly code: number;
  /** The host or router that sent the error; null if the system does not report it. */
  readonly from: string | null;
  /** The largest packet size that fits, in bytes, if the packet was too big. */
  readonly mtuBytes: number | null;
}

/** No response in time. */
export interface EchoSilence {
  readonly kind: 'silence';
  readonly sequence: number;
  /** Describes a packet that looked like a response but does not count. */
  readonly remark?: string | undefined;
}

/** This host did not send the request, which says nothing about the target. */
export interface EchoUnsent {
  readonly kind: 'unsent';
  readonly sequence: number;
  /** Name of the system error, such as `ENETUNREACH`. */
  readonly errno: string;
}

export type EchoAnswer = EchoReply | EchoError | EchoSilence | EchoUnsent;

/** Errno of a send whose packet the firewall of this host dropped. A retry might succeed, but as another packet. */
export const firewallErrno = 'EPERM';
