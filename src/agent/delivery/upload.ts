import type { Logger } from '@picket/lib/log.ts';
import type { ResultReceipt } from '@picket/protocol/agent/agent.ts';
import type { ServiceClient } from '../client/service-client.ts';
import { ServiceError } from '../client/service-error.ts';
import type { Report } from '../run/contracts.ts';
import { hasDetail, withoutDetail } from '../scrub/report-texts.ts';
import type { WaitingReport } from './outbox.ts';

/** `quarantined`: refused by the service for good; the result is counted and logged, not kept. */
export type Settlement = ResultReceipt['status'] | 'quarantined';

/** Statuses that blame the results in the body, so that a smaller body may succeed. */
const contentStatuses: ReadonlySet<number> = new Set([400, 413, 422]);

/** A report in the form that is sent, possibly without its detail. */
interface Sending {
  readonly waiting: WaitingReport;
  readonly report: Report;
}

export interface UploadOptions {
  readonly client: ServiceClient;
  readonly log: Logger;
  readonly onSettled: (waiting: WaitingReport, settlement: Settlement) => void;
}

/**
 * Sends one batch of reports until each is settled. A receipt settles a report. If the response blames the content
 * (400, 413, 422), the batch is halved until the bad report is alone, so that the others get through. Any other failure
 * ends the upload.
 *
 * @returns the failure and the unsettled reports, or undefined.
 */
export async function upload(
  batch: readonly WaitingReport[],
  options: UploadOptions,
  signal: AbortSignal,
): Promise<{ readonly error: ServiceError; readonly unsettled: WaitingReport[] } | undefined> {
  const batches: Sending[][] = [batch.map((waiting) => ({ waiting, report: waiting.report }))];
  for (let next = batches.pop(); next; next = batches.pop()) {
    try {
      const refused = await send(next, options, signal);
      if (refused.length > 0) batches.push(refused);
    } catch (thrown) {
      if (!(thrown instanceof ServiceError)) throw thrown;
      if (!contentStatuses.has(thrown.httpStatus ?? 0)) {
        batches.push(next);
        return {
          error: thrown,
          unsettled: batches.reverse().flatMap((one) => one.map(({ waiting }) => waiting)),
        };
      }
      batches.push(...smaller(next, thrown, options));
    }
  }
  return undefined;
}

/**
 * @returns reports that the service rejected with their detail, now without it: the verdict must not be lost with it.
 */
async function send(
  batch: readonly Sending[],
  options: UploadOptions,
  signal: AbortSignal,
): Promise<Sending[]> {
  const { body } = await options.client.report(
    batch.map(({ report }) => report),
    signal,
  );
  const again: Sending[] = [];
  for (const [index, sending] of batch.entries()) {
    const receipt = body.items[index];
    if (receipt?.status === 'rejected' && hasDetail(sending.report)) {
      options.log.warn(
        { runId: sending.report.runId, reason: receipt.reason },
        'result rejected by the service; sending it again without its detail',
      );
      again.push(bare(sending));
    } else if (receipt) {
      settle(sending, receipt.status, receipt.reason, options);
    }
  }
  return again;
}

/** Batches to try instead of one whose content was refused. */
function smaller(batch: readonly Sending[], error: ServiceError, options: UploadOptions): Sending[][] {
  const [only] = batch;
  if (batch.length > 1) {
    const middle = Math.ceil(batch.length / 2);
    return [batch.slice(middle), batch.slice(0, middle)];
  }
  if (!only) return [];
  if (error.httpStatus === 413 && hasDetail(only.report)) {
    options.log.warn(
      { runId: only.report.runId },
      'result too large for the service; sending it without its detail',
    );
    return [[bare(only)]];
  }
  settle(only, 'quarantined', error.message, options);
  return [];
}

function bare({ waiting, report }: Sending): Sending {
  return { waiting, report: { ...report, ...withoutDetail(report) } };
}

function settle(
  { waiting, report: { runId, resultId } }: Sending,
  settlement: Settlement,
  reason: string | null,
  { log, onSettled }: UploadOptions,
): void {
  if (settlement === 'rejected' || settlement === 'quarantined') {
    log.error({ runId, resultId, settlement, reason }, 'result permanently rejected by the service and lost');
  } else if (settlement === 'stale') {
    log.warn({ runId, resultId }, 'stale result not counted');
  }
  onSettled(waiting, settlement);
}
