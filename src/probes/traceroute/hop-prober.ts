import { answeringAddress } from '@picket/lib/wire/canonical-address.ts';
import type { IpFamily } from '../address.ts';
import type { IcmpBackend } from '../icmp/backend.ts';
import type { StampClock } from '../sys/kernel-clock.ts';
import type { ErrorBudget } from './error-budget.ts';

/** One packet limited to a number of hops. */
export interface HopProbe {
  readonly address: string;
  readonly family: IpFamily;
  /** The time to live (IPv4) or hop limit (IPv6) of the packet. */
  readonly ttl: number;
  readonly replyTimeoutMs: number;
}

/** Result of one probe of a hop. */
export type HopAnswer =
  | {
      readonly kind: 'answer';
      readonly address: string | null;
      readonly rttMs: number | null;
      /** The ICMP error of a router on the path; null if the target itself answered. */
      readonly error: { readonly type: number; readonly code: number } | null;
      /** State of the target's port, for probes that have one. */
      readonly port?: 'open' | 'closed' | undefined;
    }
  | { readonly kind: 'silence' }
  /** This host did not send the probe. */
  | { readonly kind: 'unsent'; readonly errno: string };

/** Sends probes. */
export interface HopProber {
  /** The mechanism, for users. */
  readonly description: string;
  /** Source of the timestamps so far: the kernel only if all of them are. */
  readonly clock: StampClock;
  /** Paces probes that a target answers with an ICMP error; absent for other protocols. */
  readonly budget?: ErrorBudget | undefined;
  /**
   * Sends one probe and waits for the result.
   *
   * @param signal ends the wait.
   * @returns undefined if it was aborted before a result.
   */
  probe(probe: HopProbe, signal: AbortSignal): Promise<HopAnswer | undefined>;
}

/**
 * Returns the ICMP error of a router. "Port unreachable" from the target itself counts as an answer of the target: the
 * packet has arrived. Firewalls also send it for echo requests.
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

/** Sends probes as ICMP echo requests: they need no privilege if the backend needs none. */
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
