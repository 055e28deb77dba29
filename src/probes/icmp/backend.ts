import type { IpFamily } from '../resolver.ts';

/** A number of echo requests to one address, sent at a steady pace. */
export interface PingTrain {
  /** An IPv4 or IPv6 address; a link-local one with its zone, such as `fe80::1%eth0`. */
  readonly address: string;
  readonly family: IpFamily;
  /** How many requests. Their sequence counts from 0. */
  readonly count: number;
  readonly intervalMs: number;
  /** A reply later than this after its request counts as none. */
  readonly replyTimeoutMs: number;
  /** Bytes after the 8 of the ICMP header, 0 to 65499. */
  readonly dataBytes: number;
  /** Time to live (IPv4) or hop limit (IPv6) to send with; the system's when absent. */
  readonly ttl?: number | undefined;
}

/** The target answered. */
export interface EchoReply {
  readonly kind: 'reply';
  readonly sequence: number;
  readonly rttMs: number;
  /** Time to live, or hop limit, of the reply; null when the system does not tell. */
  readonly ttl: number | null;
  readonly type: number;
  readonly code: number;
}

/** The network answered in the target's place: unreachable, prohibited, time exceeded, packet too big. */
export interface EchoError {
  readonly kind: 'error';
  readonly sequence: number;
  /** Time until that answer, in milliseconds; null when the system does not tell. */
  readonly rttMs: number | null;
  readonly type: number;
  readonly code: number;
  /** The host or router that sent the error; null when the system does not tell. */
  readonly from: string | null;
  /** The largest packet that fits, in bytes, when that was the problem. */
  readonly mtuBytes: number | null;
}

/** Nobody answered in time. */
export interface EchoSilence {
  readonly kind: 'silence';
  readonly sequence: number;
}

/** This host did not send the request. That is no loss: it says nothing about the target. */
export interface EchoUnsent {
  readonly kind: 'unsent';
  readonly sequence: number;
  /** Name of the system's error, such as `ENETUNREACH`. */
  readonly errno: string;
}

export type EchoAnswer = EchoReply | EchoError | EchoSilence | EchoUnsent;

/** Something that can ping. */
export interface IcmpBackend {
  /** How it does so, for logs. */
  readonly description: string;
  /** Whose stamps its times are made of; those of events when it does not say. */
  readonly clock?: 'kernel' | 'event';
  /**
   * Sends a train and waits for its answers, in the order of their sequence.
   *
   * @param signal stops sending and waiting; what was answered until then is returned. Requests without an entry were not
   *   sent or are still open.
   * @throws when the backend itself broke.
   */
  ping(train: PingTrain, signal: AbortSignal): Promise<readonly EchoAnswer[]>;
  /** Ends it; nothing it started is left. */
  close(): Promise<void>;
}

/** No backend works on this host. The message says what was tried and which setting to change. */
export class IcmpUnavailable extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'IcmpUnavailable';
  }
}
