import type { OverviewState } from '@picket/service/overviews/states.ts';
import { counted, countText, duration, shortened } from '../elements/format.ts';
import { type Content, type Html, html, path } from '../html.ts';
import type { ShownCheck } from './row.ts';

/** Summarizes the problems: their number, their start, and whether targets or the monitoring cause them. */
export function headline(
  counts: ReadonlyMap<OverviewState, number>,
  shown: readonly ShownCheck[],
  now: number,
  /** Checks with a monitoring gap. */
  unmeasured = 0,
): Html {
  const of = (state: OverviewState) => counts.get(state) ?? 0;
  const active = [...counts].reduce((sum, [state, count]) => sum + (state === 'off' ? 0 : count), 0);
  const [failed, unsure, degraded] = [of('failed'), of('error') + of('missed'), of('degraded')];
  const passed = of('passed');
  const state =
    failed > 0 ? 'failed' : unsure + unmeasured > 0 ? 'error' : degraded > 0 ? 'degraded' : 'passed';
  // Checks that have not run yet are not called passing, as on dashboards.
  const isUnknown = state === 'passed' && (passed === 0 || of('waiting') > 0);
  const rest: Content[] = [];
  if (failed > 0 && unsure > 0)
    rest.push(
      `${counted(unsure, 'other')} could not be judged because of problems with the monitoring, not the targets.`,
    );
  if (state !== 'degraded' && degraded > 0) rest.push(`${counted(degraded, 'check')} degraded.`);
  if (of('waiting') > 0)
    rest.push(`${counted(of('waiting'), 'check')} ${of('waiting') === 1 ? 'has' : 'have'} not run yet.`);
  if (of('off') > 0) rest.push(`${counted(of('off'), 'check')} paused.`);
  return html`<div class="headline headline-${isUnknown ? 'waiting' : state}"><h1>${sentence(state, { active, passed, failed, unsure, degraded })}${unmeasured === 0 ? '' : html`; <a href="/alerts">${counted(unmeasured, 'check')} not measured</a>`}</h1>
<p>${failed > 0 ? longest(shown, now) : ''} ${rest.map((part) => html`${part} `)}</p></div>`;
}

function sentence(
  state: 'failed' | 'error' | 'degraded' | 'passed',
  {
    active,
    passed,
    failed,
    unsure,
    degraded,
  }: Readonly<Record<'active' | 'passed' | 'failed' | 'unsure' | 'degraded', number>>,
): string {
  const checks = counted(active, 'check');
  switch (state) {
    case 'failed':
      return `${countText(failed)} of ${checks} ${failed === 1 ? 'is' : 'are'} failing`;
    case 'error':
      if (unsure === 0) return 'No target is failing';
      return `No target is failing, but ${countText(unsure)} of ${checks} cannot be judged`;
    case 'degraded':
      return `${countText(degraded)} of ${checks} ${degraded === 1 ? 'is' : 'are'} slower than allowed`;
    case 'passed':
      if (active === 0) return 'No check is active yet';
      if (passed === 0) return 'No check has run yet';
      return passed === active
        ? `All ${checks} ${active === 1 ? 'passes' : 'pass'}`
        : `${countText(passed)} of ${checks} ${passed === 1 ? 'passes' : 'pass'}, none failing`;
  }
}

/** Names the longest-lasting failure. */
function longest(shown: readonly ShownCheck[], now: number): Html | '' {
  const [first] = shown
    .flatMap(({ row, since }) => (row.state === 'failed' && since !== null ? [{ row, since }] : []))
    .sort((left, right) => left.since - right.since);
  if (!first) return '';
  const { row, since } = first;
  return html`Longest: <a href="${path`/checks/${row.id}`}">${shortened(row.name, 60)}</a>, for ${duration(now - since)}.`;
}
