import { answeringAddress } from '@picket/lib/wire/canonical-address.ts';
import type { IpFamily } from '../address.ts';
import type { IcmpBackend } from '../icmp/backend.ts';
import type { StampClock } from '../sys/kernel-clock.ts';
import type { ErrorBudget } from './error-budget.ts';

/** One packet that is to get no further than some number of hops. */
export interface HopProbe {
  readonly address: string;
  readonly family: IpFamily;
  /** The time to live (IPv4) or hop limit (IPv6) it is sent with. */
  readonly ttl: number;
  readonly replyTimeoutMs: number;
}

/** What became of one probe of a hop. */
export type HopAnswer =
  | {
      readonly kind: 'answer';
      readonly address: string | null;
      readonly rttMs: number | null;
      /** The ICMP error of a router that is on the way; null when the target itself answered. */
      readonly error: { readonly type: number; readonly code: number } | null;
      /** What the target says of the port, where one was asked. */
      readonly port?: 'open' | 'closed' | undefined;
    }
  | { readonly kind: 'silence' }
  /** This host did not send it. */
  | { readonly kind: 'unsent'; readonly errno: string };

/** Something that can send probes. */
export interface HopProber {
  /** How it does so, for people. */
  readonly description: string;
  /** Whose stamps the times of its answers are made of so far: the kernel's, if all of them are. */
  readonly clock: StampClock;
  /** Paces probes that a target answers by an ICMP error; absent where it answers otherwise. */
  readonly budget?: ErrorBudget | undefined;
  /**
   * Sends one probe and waits for what comes of it.
   *
   * @param signal ends the wait.
   * @returns undefined when it was stopped before anything was known.
   */
  probe(probe: HopProbe, signal: AbortSignal): Promise<HopAnswer | undefined>;
}

/**
 * What an ICMP error says of the way. That no program is at the port is an answer of the target, when the target says
 * it: the packet has arrived. Firewalls say it of echo requests, too.
 */
export function hopError(
  probe: HopProbe,
  { from, type, code }: { readonly from: string | null; readonly type: number; readonly code: number },
): { readonly type: number; readonly code: number } | null {
  // RFC 792 type 3 code 3, RFC 4443 type 1 code 4.
  const isPortClosed = probe.family === 4 ? type === 3 && code === 3 : type === 1 && code === 4;
  return isPortClosed && from === answeringAddress(probe.address) ? null : { type, code };
}

const echoDataBytes = 32;

/** Probes that are ICMP echo requests: they need no privilege where the backend needs none. */
export function echoProber(backend: IcmpBackend): HopProber {
  return {
    description: backend.description,
    clock: backend.clock,
    async probe(probe, signal) {
      const train = { ...probe, count: 1, intervalMs: 0, dataBytes: echoDataBytes };
      const [answer] = await backend.ping(train, signal);
      switch (answer?.kind) {
        case undefined:
          return undefined;
        case 'reply':
          return {
            kind: 'answer',
            address: answeringAddress(probe.address),
            rttMs: answer.rttMs,
            error: null,
          };
        case 'error':
          return {
            kind: 'answer',
            address: answer.from,
            rttMs: answer.rttMs,
            error: hopError(probe, answer),
          };
        case 'silence':
          return { kind: 'silence' };
        case 'unsent':
          return { kind: 'unsent', errno: answer.errno };
      }
    },
  };
}
