import { counted, countText } from '@picket/lib/figures/count.ts';
import { durationText } from '@picket/lib/figures/duration.ts';
import { leftText, percentText, shareOfPercent } from '@picket/lib/figures/share.ts';
import type { SloDefinition } from '@picket/protocol/results/slo.ts';
import { burnRate, type MeasuredRuns } from './budget.ts';

const hourMs = 3_600_000;

/**
 * Burn alerts. A budget burns if more than a set part of it was spent in a long window, and the last part of that
 * window spends it at that rate, too: the former makes it significant, the latter current. A few failed runs are not a
 * burn, however small the budget: with one run a minute a single failure can be 2 % of a month's budget at 99.9 %.
 *
 * A burn is over when the last half hour spends the budget at less than its sustainable rate. Without a run in that
 * time nothing is known, and the state does not change.
 */
export type Runs = Pick<MeasuredRuns, 'runCount' | 'passedCount'>;

export const burnWindows = [
  { name: 'HOUR', longMinutes: 60, shortMinutes: 5 },
  { name: 'SIX_HOURS', longMinutes: 360, shortMinutes: 30 },
] as const;
export type BurnWindow = (typeof burnWindows)[number];

/** All counted window lengths, in minutes. */
export type CountedMinutes = BurnWindow['longMinutes' | 'shortMinutes'];

/** Outcomes of the latest runs, by the number of minutes that they cover up to now. */
export type LastRuns = Readonly<Record<CountedMinutes, Runs>>;

/** Minimum rate worth a notification: spending twice as fast as the budget lasts. */
const leastRate = 2;
const calmMinutes = 30;

/** Rate from which a window burns: 1 spends exactly the budget over the window of the objective. */
export function alertingRate(
  { windowDays, burnAlert }: Pick<SloDefinition, 'windowDays' | 'burnAlert'>,
  { name, longMinutes }: BurnWindow,
): number {
  const percent = name === 'HOUR' ? burnAlert.percentInHour : burnAlert.percentInSixHours;
  return Math.max(leastRate, ((percent / 100) * windowDays * 1440) / longMinutes);
}

/** The burning window, the shortest first; undefined if no window burns. */
export function burningWindow(slo: SloDefinition, last: LastRuns): BurnWindow | undefined {
  return burnWindows.find((window) => {
    const limit = alertingRate(slo, window);
    const [long, short] = [last[window.longMinutes], last[window.shortMinutes]];
    if (long.runCount - long.passedCount < slo.burnAlert.minFailedRuns) return false;
    return [long, short].every((runs) => (burnRate(slo.target, runs) ?? 0) >= limit);
  });
}

/** Whether a burn is over. */
export function isCalm({ target }: Pick<SloDefinition, 'target'>, last: LastRuns): boolean {
  const rate = burnRate(target, last[calmMinutes]);
  return rate !== null && rate < 1;
}

/** A burn in words, for notifications. */
export function burnText(
  { target, windowDays }: Pick<SloDefinition, 'target' | 'windowDays'>,
  { longMinutes, shortMinutes }: BurnWindow,
  last: LastRuns,
  leftPercent: number | null,
): string {
  const long = last[longMinutes];
  const hours = longMinutes === 60 ? 'hour' : `${longMinutes / 60} hours`;
  const rate = burnRate(target, long) ?? 0;
  const lastsHours = (windowDays * 24) / rate;
  const left = leftPercent === null ? '' : ` ${leftWords(leftPercent)}`;
  return (
    `${failedText(long)} failed in the last ${hours} (${failedText(last[shortMinutes])} in the last ${shortMinutes} minutes); ` +
    `the target is ${percentText(shareOfPercent(target))}. At this rate the budget of ${windowDays} days is spent in ${durationText(lastsHours * hourMs)}.${left}`
  );
}

function failedText({ runCount, passedCount }: Runs): string {
  return `${countText(runCount - passedCount)} of ${counted(runCount, 'run')}`;
}

function leftWords(percent: number): string {
  return percent < 0 ? 'The budget is already overspent.' : `${leftText(percent)} of the budget is left.`;
}
