import { percentText, shareOfPercent } from '@picket/lib/figures/share.ts';
import { type Failure, failure } from '../contract/failure.ts';
import type { IcmpDetail, PingResult } from './detail.ts';

export interface LossLimits {
  readonly shouldFail: boolean;
  /** Percent; null: no limit. */
  readonly degradedPacketLossThreshold: number | null;
  readonly maxPacketLossThreshold: number | null;
}

/** Error of a request without a reply or ICMP error. */
export const noReply = 'no reply in time';

/** Meaning of packet loss for the check: none, degraded, or why it failed. */
export interface LossVerdict {
  readonly failure: Failure | undefined;
  readonly isDegraded: boolean;
}

/**
 * Judges the loss of packets (check model 1.6). The limits are inclusive; without any reply the check fails, whatever
 * the limits. `shouldFail` inverts this: the check then expects such a loss.
 */
export function judgeLoss(response: IcmpDetail['response'], limits: LossLimits): LossVerdict {
  const {
    packetLoss: lossPercent,
    packetsSent: sent,
    packetsReceived: received,
    pingResults: results,
  } = response;
  const { shouldFail, degradedPacketLossThreshold, maxPacketLossThreshold } = limits;
  if (lossPercent === null) return { failure: undefined, isDegraded: false };
  const isOverMax = maxPacketLossThreshold !== null && lossPercent >= maxPacketLossThreshold;
  const isFailed = received === 0 || isOverMax;
  if (shouldFail) {
    const message = `${received} of ${sent} echo requests were answered, but the check expects no reply`;
    return { failure: isFailed ? undefined : failure('REPLY_UNEXPECTED', message), isDegraded: false };
  }
  if (received === 0) return { failure: noReplyFailure(sent, results), isDegraded: false };
  if (isOverMax) {
    const message = `Packet loss ${percentText(shareOfPercent(lossPercent))} reached ${percentText(shareOfPercent(maxPacketLossThreshold))}${errorsIn(results)}`;
    return { failure: failure('PACKET_LOSS_EXCEEDED', message), isDegraded: false };
  }
  const isDegraded = degradedPacketLossThreshold !== null && lossPercent >= degradedPacketLossThreshold;
  return { failure: undefined, isDegraded };
}

/** Failure without replies: by silence, or by a router that reported a reason. */
function noReplyFailure(sent: number, results: readonly PingResult[]): Failure {
  const router = results.find(({ from }) => from !== null)?.from;
  const message = `The target answered none of ${sent} echo requests${errorsIn(results)}`;
  return router ? failure('HOST_UNREACHABLE', message, { router }) : failure('NO_REPLY', message);
}

/** Lists ICMP errors from other hosts and packets dropped by this host, each distinct error with its count. */
function errorsIn(results: readonly PingResult[]): string {
  const counts = new Map<string, number>();
  for (const { success, from, type, error } of results) {
    if (success || error === null) continue;
    // Silence carries no information, nor does an error without a sender.
    if (from === null && (type !== null || error === noReply)) continue;
    const text = from === null ? error : `${error} from ${from}`;
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const parts = [...counts].slice(0, 5).map(([text, count]) => `${count} × ${text}`);
  return parts.length === 0 ? '' : `: ${parts.join(', ')}`;
}
