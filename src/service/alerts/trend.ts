import type { AlertSettings } from '@picket/checks/contract/definition/common-fields.ts';
import type { Flapping, Verdict } from './state.ts';

/**
 * What the last runs of a check say together, before its alert state hears of them. Its story:
 *
 * With consecutive runs or minutes as threshold a run says what it says. With `x of y` (RATIO_BASED) the check
 * has failed while at least x of its last y runs have, and is degraded while at least x have not passed; with
 * `n in m minutes` (COUNT_BASED) the same holds for n runs of the last m minutes. So one run that passes in
 * between neither hides a failure nor ends one. Only a run that is as bad makes it worse, and only a better
 * one makes it better, whatever becomes of the settings.
 *
 * A check whose state changed more often than `flapping` allows, within its minutes, flaps. That begins with the
 * change that is one too many, and ends with the first run when there was none for `stableMinutes`.
 */
export interface Trend {
  /** The runs that count for the threshold, oldest first; none where runs count by themselves. */
  readonly recent: readonly { readonly at: number; readonly verdict: Verdict }[];
  /** The changes of the last minutes, oldest first, and what to. */
  readonly changes: readonly { readonly at: number; readonly to: Verdict }[];
  readonly last: Verdict;
  readonly isFlapping: boolean;
}

export const steadyTrend: Trend = { recent: [], changes: [], last: 'passed', isFlapping: false };

/** Whether there is nothing to remember. */
export function isSteady({ recent, changes, last, isFlapping }: Trend): boolean {
  return !isFlapping && last === 'passed' && changes.length === 0 && recent.every(passes);
}

const minuteMs = 60_000;
const badness: Readonly<Record<Verdict, number>> = { passed: 0, degraded: 1, failed: 2 };

/**
 * The trend after one run more, what the runs say together, and whether the check flaps.
 *
 * @param run its verdict, and when it was due in epoch milliseconds.
 */
export function follow(
  trend: Trend,
  run: { readonly verdict: Verdict; readonly slotAt: number },
  settings: AlertSettings,
): { readonly trend: Trend; readonly verdict: Verdict; readonly flapping: Flapping } {
  const recent = remembered([...trend.recent, { at: run.slotAt, verdict: run.verdict }], settings);
  const verdict = recent.length === 0 ? run.verdict : together(recent, trend.last, run.verdict, settings);
  const { enabled, changes: allowed, minutes, stableMinutes } = settings.flapping;
  const known = trend.changes.filter(({ at }) => run.slotAt - at < minutes * minuteMs);
  const isChange = verdict !== trend.last;
  const changes = isChange ? [...known, { at: run.slotAt, to: verdict }] : known;
  const next: Trend = { recent, changes, last: verdict, isFlapping: trend.isFlapping };
  if (trend.isFlapping) {
    const lastChangeAt = (isChange ? run.slotAt : trend.changes.at(-1)?.at) ?? Number.NEGATIVE_INFINITY;
    const isOver = !enabled || run.slotAt - lastChangeAt >= stableMinutes * minuteMs;
    if (isOver) return { trend: { ...next, changes: [], isFlapping: false }, verdict, flapping: 'ends' };
    // The last change is kept, however long ago: it is what the end counts from.
    const kept = changes.length > 0 ? changes.slice(-allowed - 1) : trend.changes.slice(-1);
    return { trend: { ...next, changes: kept }, verdict, flapping: 'lasts' };
  }
  if (!enabled) return { trend: { ...next, changes: [] }, verdict, flapping: 'no' };
  if (!isChange || changes.length <= allowed) return { trend: next, verdict, flapping: 'no' };
  const begins = changes.some(({ to }) => to === 'failed') ? 'failed' : 'degraded';
  return { trend: { ...next, isFlapping: true }, verdict, flapping: { begins } };
}

/** The runs that the threshold looks at: none where each counts by itself, or none of them is bad. */
function remembered(runs: Trend['recent'], settings: AlertSettings): Trend['recent'] {
  const { escalationType, ratioBasedEscalation: ratio, countBasedEscalation: count } = settings;
  if (escalationType === 'RATIO_BASED') return runs.slice(-ratio.runs);
  if (escalationType !== 'COUNT_BASED') return [];
  const newest = runs.at(-1)?.at ?? 0;
  const within = runs.filter(({ at }) => newest - at < count.minutes * minuteMs);
  // Runs that pass count for nothing, but the last shows what it is about; of others the last few are enough.
  const bad = within.filter((run) => !passes(run));
  const failed = bad.filter(({ verdict }) => verdict === 'failed').slice(-count.failedRunThreshold);
  const kept = new Set([...failed, ...bad.slice(-count.failedRunThreshold), ...within.slice(-1)]);
  return within.filter((run) => kept.has(run));
}

/** What runs say together; `before` is what they said until the last one. */
function together(
  recent: Trend['recent'],
  before: Verdict,
  last: Verdict,
  { escalationType, ratioBasedEscalation, countBasedEscalation }: AlertSettings,
): Verdict {
  const { failedRunThreshold: needed } =
    escalationType === 'RATIO_BASED' ? ratioBasedEscalation : countBasedEscalation;
  const bad = recent.filter((run) => !passes(run));
  const failed = bad.filter(({ verdict }) => verdict === 'failed');
  const said = failed.length >= needed ? 'failed' : bad.length >= needed ? 'degraded' : 'passed';
  const isWorse = badness[said] > badness[before];
  if (isWorse) return badness[last] >= badness[said] ? said : before;
  return said === before || badness[last] < badness[before] ? said : before;
}

function passes({ verdict }: { readonly verdict: Verdict }): boolean {
  return verdict === 'passed';
}
