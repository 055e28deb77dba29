import type { Coverage } from '@picket/protocol/runs/coverage.ts';
import type { Gap } from '../elements/charts/lanes.ts';
import { type SlotFacts, slotState } from '../elements/charts/slot-bar.ts';
import type { AxisSpan } from '../elements/charts/time-axis.ts';
import { reasonsText, unmeasuredReasons } from './run-bars.ts';

interface OpenGap extends AxisSpan {
  readonly reasons: Set<string>;
}

/**
 * Periods in which no slot was measured at any of the locations, from listed slots, oldest first. A gap lasts until the
 * next slot that was measured.
 *
 * @param strideMs distance of two slots of a location.
 */
export function gapsOfSlots(slots: readonly SlotFacts[], span: AxisSpan, strideMs: number): Gap[] {
  const gaps: OpenGap[] = [];
  let open: { from: number; to: number; reasons: Set<string> } | undefined;
  for (const [at, together] of Map.groupBy(slots, (slot) => slot.at)) {
    const isMeasured = together.some((slot) => slotState(slot) !== 'missed');
    if (isMeasured) {
      if (open) gaps.push({ ...open, to: at });
      open = undefined;
      continue;
    }
    open ??= { from: at, to: at, reasons: new Set() };
    for (const { count, reason } of together) {
      open.to = Math.max(open.to, at + count * strideMs);
      if (reason !== null) open.reasons.add(reason);
    }
  }
  if (open) gaps.push(open);
  return gaps.map(({ from, to, reasons }) => gapOf({ from, to: Math.min(to, span.to) }, reasons));
}

/** The same from the coverage of intervals: a gap is an interval, or several, with no measured slot at all. */
export function gapsOfCoverage(coverage: ReadonlyMap<number, Coverage>, intervalMs: number): Gap[] {
  const gaps: OpenGap[] = [];
  for (const [from, one] of coverage) {
    if (one.evaluated + one.errors > 0 || one.due === one.open) continue;
    const reasons = new Set(unmeasuredReasons(one));
    const last = gaps.at(-1);
    if (last?.to === from) gaps[gaps.length - 1] = joined(last, from + intervalMs, reasons);
    else gaps.push({ from, to: from + intervalMs, reasons });
  }
  return gaps.map(({ reasons, ...period }) => gapOf(period, reasons));
}

function joined({ from, reasons }: OpenGap, to: number, more: ReadonlySet<string>): OpenGap {
  return { from, to, reasons: new Set([...reasons, ...more]) };
}

function gapOf(period: AxisSpan, reasons: ReadonlySet<string>): Gap {
  const why = reasonsText(reasons);
  return { ...period, title: why === '' ? 'Not measured' : `Not measured: ${why}` };
}
