import type { IpFamily } from '../address.ts';
import type { EchoAnswer } from './echo/answers.ts';

/** A series of echo requests to one address, sent at a steady pace. */
export interface PingTrain {
  /** An IPv4 or IPv6 address; a link-local one with its zone, such as `fe80::1%eth0`. */
  readonly address: string;
  readonly family: IpFamily;
  /** Number of requests. Sequence numbers start at 0. */
  readonly count: number;
  readonly intervalMs: number;
  /** A reply that arrives later than this after its request counts as lost. */
  readonly replyTimeoutMs: number;
  /** After this time the train ends as if its signal aborted; without a limit when absent. */
  readonly timeoutMs?: number | undefined;
  /** Bytes after the 8 of the ICMP header, 0 to 65499. */
  readonly dataBytes: number;
  /** Time to live (IPv4) or hop limit (IPv6) to send; the system's default when absent. */
  readonly ttl?: number | undefined;
  /** True forbids routers and this host to fragment the requests; false allows it; the system's default when absent. */
  readonly dontFragment?: boolean | undefined;
}

/** Sends echo requests. */
export interface IcmpBackend {
  /** The mechanism, for logs. */
  readonly description: string;
  /** Source of the round trip timestamps: the kernel, or a process that may be late. */
  readonly clock: 'kernel' | 'event';
  /**
   * Sends a train and waits for its answers, ordered by sequence number. If the signal aborts, or the time limit passes,
   * those received so far are returned: requests without an entry were not sent or are still open.
   *
   * @throws if the backend itself failed.
   */
  ping(train: PingTrain, signal: AbortSignal): Promise<readonly EchoAnswer[]>;
  /** Ends the backend and everything it started. */
  close(): Promise<void>;
}

/** No backend works on this host. The message lists the attempts and the setting to change. */
export class IcmpUnavailable extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'IcmpUnavailable';
  }
}
