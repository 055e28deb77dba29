import type { Coverage } from '@picket/protocol/runs/coverage.ts';
import type { Gap } from '../elements/charts/lanes.ts';
import type { RunBar } from '../elements/charts/runs-lane.ts';
import {
  isLate,
  reasonWords,
  type SlotFacts,
  slotHref,
  slotState,
  slotWords,
} from '../elements/charts/slot-bar.ts';
import { type AxisSpan, roundStep } from '../elements/charts/time-axis.ts';
import { counted, countText } from '../elements/format.ts';
import type { State } from '../elements/state.ts';
import { mostBars } from './range.ts';
import type { Row, Trend } from './series.ts';

/** Number of runs by their outcome. */
export type Counts = ReadonlyMap<State, number>;

/** The runs of one location as bars. */
export interface Strip {
  readonly bars: readonly RunBar[];
  readonly counts: Counts;
}

/** Columns of combined slots. */
const mostColumns = 200;

/** From the worst to the best: a bar of several slots has the first state that one of them has. */
const worstFirst: readonly State[] = ['failed', 'error', 'degraded', 'passed', 'missed', 'waiting', 'off'];
const stateWords: Readonly<Record<State, string>> = {
  failed: 'failed',
  error: 'not judged',
  degraded: 'degraded',
  passed: 'passed',
  missed: 'not measured',
  waiting: 'in progress',
  off: 'off',
};

/**
 * Bars of listed slots, oldest first: one for each, or, where bars would be narrower than a pixel, one for all slots of
 * an interval.
 *
 * @param options.strideMs distance of two slots of the location.
 * @param options.zoom link to a closer view of a part of the range.
 */
export function slotStrip(
  slots: readonly SlotFacts[],
  span: AxisSpan,
  options: {
    readonly strideMs: number;
    readonly zoom: (from: number, to: number) => string;
  },
): Strip {
  const { strideMs, zoom } = options;
  const counts = countsOf(slots);
  if (slots.length <= mostBars) {
    const lengthMs = barLength(slots, span, strideMs);
    return { counts, bars: slots.map((slot) => singleBar(slot, lengthMs, strideMs)) };
  }
  const step = roundStep(span, mostColumns);
  const columns = Map.groupBy(slots, ({ at }) => Math.floor(at / step) * step);
  return {
    counts,
    bars: [...columns].map(([from, some]) => {
      const [only] = some;
      if (only && some.length === 1) return singleBar(only, step, strideMs);
      const own = countsOf(some);
      const reasons = new Set(some.flatMap(({ reason }) => reason ?? []));
      return { ...columnBar(own, reasons, from, from + step), href: zoom(from, from + step) };
    }),
  };
}

/** A run on demand may follow a slot at once: bars are as wide as the slots are apart, within limits. */
function barLength(slots: readonly SlotFacts[], { from, to }: AxisSpan, strideMs: number): number {
  const [least, most] = [(to - from) / mostBars, (to - from) / 60];
  const apart = slots.flatMap(({ at, isOnDemand }, index) => {
    const before = slots[index - 1];
    return before && !isOnDemand && !before.isOnDemand && at > before.at ? [at - before.at] : [];
  });
  const shortest = apart.reduce((one, other) => Math.min(one, other), strideMs || most);
  return Math.min(most, Math.max(least, shortest));
}

function singleBar(slot: SlotFacts, lengthMs: number, strideMs: number): RunBar {
  const { at, count, isOnDemand } = slot;
  const to = at + Math.max(lengthMs, count > 1 ? count * strideMs : 0);
  return {
    ...{ from: at, to, state: slotState(slot), isOnDemand, isLate: isLate(slot) },
    title: slotWords(slot),
    href: slotHref(slot),
  };
}

function countsOf(slots: readonly SlotFacts[]): Counts {
  const counts = new Map<State, number>();
  for (const slot of slots) {
    const state = slotState(slot);
    counts.set(state, (counts.get(state) ?? 0) + slot.count);
  }
  return counts;
}

/** Bars of the intervals of a trend, for ranges with too many slots to read each. */
export function trendStrip(trend: Trend, zoom: (from: number, to: number) => string): Strip {
  const { intervalMs, rows, coverage } = trend;
  const starts = [...new Set([...rows.keys(), ...coverage.keys()])].sort((left, right) => left - right);
  const total = new Map<State, number>();
  const bars = starts.flatMap((from): RunBar[] => {
    const counts = intervalCounts(rows.get(from), coverage.get(from));
    for (const [state, count] of counts) total.set(state, (total.get(state) ?? 0) + count);
    if (counts.size === 0) return [];
    const reasons = unmeasuredReasons(coverage.get(from));
    const to = from + intervalMs;
    return [{ ...columnBar(counts, reasons, from, to), href: zoom(from, to) }];
  });
  return { bars, counts: total };
}

/** A failed run is never lost to rounding, nor where its slot was due in the interval before. */
function intervalCounts(row: Row | undefined, coverage: Coverage | undefined): Counts {
  const availability = row?.['availability'];
  const { evaluated = 0, errors = 0, open = 0, due = 0 } = coverage ?? {};
  const isFailing = typeof availability === 'number' && availability < 100;
  const failed = isFailing ? Math.max(1, Math.round(evaluated * (1 - availability / 100))) : 0;
  const entries: [State, number][] = [
    ['failed', failed],
    ['error', errors],
    ['passed', Math.max(0, evaluated - failed)],
    ['missed', Math.max(0, due - open - evaluated - errors)],
    ['waiting', open],
  ];
  return new Map(entries.filter(([, count]) => count > 0));
}

/** Why slots of an interval were not measured. */
function unmeasuredReasons(coverage: Coverage | undefined): ReadonlySet<string> {
  const { missed = {}, cancelled = {}, maintenance = 0 } = coverage ?? {};
  const paused = maintenance > 0 ? ['paused-by-maintenance'] : [];
  return new Set([...Object.keys(missed), ...Object.keys(cancelled), ...paused]);
}

function columnBar(
  counts: Counts,
  reasons: ReadonlySet<string>,
  from: number,
  to: number,
): Omit<RunBar, 'href'> {
  const found = worstFirst.filter((state) => counts.has(state));
  const state = found[0] ?? 'missed';
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const parts = found.map((one) => {
    const why = one === 'missed' ? reasonsText(reasons) : '';
    return `${countText(counts.get(one) ?? 0)} ${stateWords[one]}${why === '' ? '' : ` (${why})`}`;
  });
  const title = `${counted(total, 'run')}: ${parts.join(', ')}`;
  return { from, to, state, title, isPartlyMissed: state !== 'missed' && counts.has('missed') };
}

/** The reasons of slots without a measurement, in a few words. */
function reasonsText(reasons: ReadonlySet<string>): string {
  const [only] = reasons;
  if (only !== undefined && reasons.size === 1)
    return reasonWords(only).replace(/\.$/, '').split('. ')[0] ?? '';
  return [...reasons].map((reason) => reason.replaceAll('-', ' ')).join(', ');
}

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
      // Later, nothing was due: the check was outside its hours.
      if (open) gaps.push({ ...open, to: at > open.to + strideMs ? open.to : at });
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
