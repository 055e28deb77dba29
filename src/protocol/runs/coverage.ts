import { percentText, type Share, shareOf } from '@picket/lib/figures/share.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { pausedReason, type SlotCounts } from './slot.ts';

/** Number of slots by outcome. */
const Count = lazySchema(() => z.record(z.string(), z.int().min(1)));

/**
 * Share of due slots that were measured: the only definition, used with every availability. All counts but `due` add up
 * to `due`, in every window. Slots belong to the window of their due time.
 */
export const Coverage = lazySchema(() =>
  z
    .object({
      percent: z
        .number()
        .nullable()
        .describe(
          'Evaluated slots in percent of the due ones, not counting open ones; null if none were due',
        ),
      due: z.int().min(0).describe('Due slots: the sum of all following counts'),
      evaluated: z.int().min(0).describe('Measured, with a verdict about the target'),
      errors: z
        .int()
        .min(0)
        .describe('Run, but with an error of the agent or location, so without a verdict about the target'),
      missed: Count.schema.describe('Never measured, by reason'),
      maintenance: z.int().min(0).describe('Not measured because a maintenance window paused the check'),
      cancelled: Count.schema.describe('Cancelled before they were measured, by reason'),
      open: z.int().min(0).describe('Queued or leased: not counted yet'),
    })
    .meta({ id: 'Coverage' }),
);
export type Coverage = z.output<typeof Coverage.schema>;

/** Outcome of a slot, as one word. */
export type SlotOutcome = 'evaluated' | 'error' | 'open' | `missed:${string}` | `cancelled:${string}`;

/** Derives the outcome of a slot from its ledger record and its final result. */
export function outcomeOf(slot: {
  readonly state: 'queued' | 'leased' | 'final' | 'missed' | 'cancelled';
  readonly reason: string | null;
  readonly hasErrors: boolean;
}): SlotOutcome {
  switch (slot.state) {
    case 'queued':
    case 'leased':
      return 'open';
    case 'final':
      return slot.hasErrors ? 'error' : 'evaluated';
    default:
      return `${slot.state}:${slot.reason ?? 'unknown'}`;
  }
}

/** Returns the coverage of counted outcomes; an outcome may occur several times. */
export function coverageOf(counts: Iterable<readonly [SlotOutcome, number]>): Coverage {
  let [due, evaluated, errors, maintenance, open] = [0, 0, 0, 0, 0];
  const missed: Record<string, number> = {};
  const cancelled: Record<string, number> = {};
  for (const [outcome, count] of counts) {
    if (count === 0) continue;
    due += count;
    const [kind, reason = ''] = outcome.split(':');
    if (outcome === 'evaluated') evaluated += count;
    else if (outcome === 'error') errors += count;
    else if (outcome === 'open') open += count;
    else if (reason === pausedReason) maintenance += count;
    else {
      const byReason = kind === 'missed' ? missed : cancelled;
      byReason[reason] = (byReason[reason] ?? 0) + count;
    }
  }
  const ended = due - open;
  const percent = ended === 0 ? null : (100 * evaluated) / ended;
  return { percent, due, evaluated, errors, missed, maintenance, cancelled, open };
}

export const noCoverage: Coverage = coverageOf([]);

/** Adds the coverage of several checks, locations or times. */
export function addedCoverage(parts: Iterable<Coverage>): Coverage {
  return coverageOf([...parts].flatMap(countsOf));
}

function countsOf(part: Coverage): (readonly [SlotOutcome, number])[] {
  const byReason = (kind: 'missed' | 'cancelled') =>
    Object.entries(part[kind]).map(([reason, count]) => [`${kind}:${reason}`, count] as const);
  return [
    ['evaluated', part.evaluated],
    ['error', part.errors],
    ['open', part.open],
    [`missed:${pausedReason}`, part.maintenance],
    ...byReason('missed'),
    ...byReason('cancelled'),
  ];
}

/** Converts the counts to the form of the slot operations. */
export function slotCountsOf(coverage: Coverage): SlotCounts {
  const { maintenance } = coverage;
  return {
    due: coverage.due,
    final: coverage.evaluated + coverage.errors,
    missed: { ...coverage.missed, ...(maintenance === 0 ? {} : { [pausedReason]: maintenance }) },
    cancelled: coverage.cancelled,
    onTheirWay: coverage.open,
  };
}

/** Whether a bar was measured: NONE is shown grey, never green. */
export const Measurement = lazySchema(() =>
  z
    .enum(['FULL', 'PARTIAL', 'NONE'])
    .describe('FULL: all slots were evaluated; PARTIAL: some were; NONE: no slot was evaluated'),
);
export type Measurement = z.output<typeof Measurement.schema>;

/** A bar of a page. */
export interface DayCoverage {
  readonly measurement: Measurement;
  readonly coverage: Coverage;
}

/** Ignores open slots: they are not yet due for a result. */
export function measurementOf({ percent, evaluated }: Coverage): Measurement {
  if (evaluated === 0) return 'NONE';
  return percent === 100 ? 'FULL' : 'PARTIAL';
}

/** The value of `percent` as a share: evaluated slots among the due ones, without open slots. */
export function measuredShare({ evaluated, due, open }: Coverage): Share | null {
  return shareOf(evaluated, due - open);
}

export const notMeasured = 'not measured';

/** Returns the note next to an availability; null at full coverage. */
export function coverageText(coverage: Coverage): string | null {
  const part = measuredShare(coverage);
  if (measurementOf(coverage) === 'NONE') return notMeasured;
  return part === null || part === 1 ? null : `${percentText(part)} measured`;
}
