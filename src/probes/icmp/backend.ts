import type { IpFamily } from '../address.ts';
import type { EchoAnswer } from '../kernel-thread/echo/answers.ts';

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
  /**
   * Whether routers may not fragment the requests, nor this host; the other way round when false; as the system
   * does it when absent.
   */
  readonly dontFragment?: boolean | undefined;
}

/** Something that can ping. */
export interface IcmpBackend {
  /** How it does so, for logs. */
  readonly description: string;
  /**
   * Whose stamps the round trips are made of: the kernel's, or those of a process that may have been late.
   */
  readonly clock: 'kernel' | 'event';
  /**
   * Sends a train and waits for its answers, in the order of their sequence.
   *
   * @param signal stops sending and waiting; what was answered until then is returned. Requests without an
   *   entry were not sent or are still open.
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
