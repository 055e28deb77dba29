import type { Report } from '../../runners/worker-protocol.ts';
import type { SpoolKind } from './segment.ts';

/** A report on its way, as far as the main thread has it in memory. */
export interface WaitingReport {
  readonly report: Report;
  readonly kind: SpoolKind;
  /** When it was spooled, epoch milliseconds by the service's clock. */
  readonly atMs: number;
  /** Where it lies on disk, once it does. */
  place: { readonly ref: number; readonly epoch: number } | undefined;
  /** `sending`: the reporter has it. `backlog`: it waits for its turn. `settled`: the service has it, or it was dropped. */
  state: 'sending' | 'backlog' | 'settled';
}

/** About how much memory a report takes, in characters. */
export function sizeOf({ report }: WaitingReport): number {
  return report.envelopeJson.length + report.detailJson.length;
}
