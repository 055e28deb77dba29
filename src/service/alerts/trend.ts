import type { AlertSettings } from '@picket/checks/contract/definition/common-fields.ts';
import type { Flapping, Verdict } from './state.ts';

/**
 * Combined verdict of the last runs of a check, computed before its alert state sees them. How it works:
 *
 * With consecutive runs or minutes as threshold, each run keeps its own verdict. With `x of y` (RATIO_BASED) the check
 * has failed while at least x of its last y runs have failed, and is degraded while at least x have not passed; with
 * `n in m minutes` (COUNT_BASED) the same holds for n runs of the last m minutes. So a single passing run in between
 * neither hides a failure nor ends one. Only a run at least as bad makes the state worse, and only a better one makes
 * it better, even if the settings change.
 *
 * A check whose state changed more often than `flapping` allows, within its minutes, flaps. Flapping begins with the
 * first change above the limit, and ends with the first run after `stableMinutes` without a change.
 */
export interface Trend {
  /** Runs that count toward the threshold, oldest first; empty if each run counts by itself. */
  readonly recent: readonly { readonly at: number; readonly verdict: Verdict }[];
  /** Changes in the last minutes and their new states, oldest first. */
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
 * Adds a run: returns the new trend, the combined verdict, and whether the check flaps.
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
    // The last change is kept regardless of age: `stableMinutes` counts from it.
    const kept = changes.length > 0 ? changes.slice(-allowed - 1) : trend.changes.slice(-1);
    return { trend: { ...next, changes: kept }, verdict, flapping: 'lasts' };
  }
  if (!enabled) return { trend: { ...next, changes: [] }, verdict, flapping: 'no' };
  if (!isChange || changes.length <= allowed) return { trend: next, verdict, flapping: 'no' };
  const begins = changes.some(({ to }) => to === 'failed') ? 'failed' : 'degraded';
  return { trend: { ...next, isFlapping: true }, verdict, flapping: { begins } };
}

/** Runs that the threshold considers; none if each run counts by itself. */
function remembered(runs: Trend['recent'], settings: AlertSettings): Trend['recent'] {
  const { escalationType, ratioBasedEscalation: ratio, countBasedEscalation: count } = settings;
  if (escalationType === 'RATIO_BASED') return runs.slice(-ratio.runs);
  if (escalationType !== 'COUNT_BASED') return [];
  const newest = runs.at(-1)?.at ?? 0;
  const within = runs.filter(({ at }) => newest - at < count.minutes * minuteMs);
  // Passing runs do not count, but the last run is always kept; of the bad ones the last few are enough.
  const bad = within.filter((run) => !passes(run));
  const failed = bad.filter(({ verdict }) => verdict === 'failed').slice(-count.failedRunThreshold);
  const kept = new Set([...failed, ...bad.slice(-count.failedRunThreshold), ...within.slice(-1)]);
  return within.filter((run) => kept.has(run));
}

/** Combined verdict of runs; `before` is the one up to the previous run. */
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
