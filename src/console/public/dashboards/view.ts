import { shareOfPercent } from '@picket/lib/figures/share.ts';
import type { DashboardData } from '@picket/protocol/pages/public-page.ts';
import { coverageText, notMeasured } from '@picket/protocol/runs/coverage.ts';
import { shownStates } from '@picket/service/overviews/states.ts';
import { type Bar, bars } from '../../elements/charts/bars.ts';
import { counted, duration, instant, percent, utc } from '../../elements/format.ts';
import { type State, stateBadge } from '../../elements/state.ts';
import { pager } from '../../elements/table.ts';
import { visible } from '../../elements/text.ts';
import { type Html, html, path } from '../../html.ts';
import { type Notice, openNotice, pastNotice, statusWord } from '../incidents.ts';

type Check = DashboardData['checks'][number];
type Run = Check['lastRuns'][number];
type Figures = Check['last24Hours'];
type Incident = DashboardData['incidents'][number];

const verdicts = { passing: 'passed', degraded: 'degraded', failing: 'failed', unknown: 'error' } as const;
const runsShown = 20;

/** Shows a dashboard: a summary of all checks, then each check on this page. */
export function dashboardMain(data: DashboardData, pageHref: (page: number) => string): Html {
  const { dashboard, checks, incidents, pagination } = data;
  const open = incidents.filter(({ stoppedAt }) => stoppedAt === null);
  const over = incidents.filter(({ stoppedAt }) => stoppedAt !== null);
  const { state, word } = headline(data);
  return html`<h1 class="hidden">${visible(dashboard.header ?? 'Dashboard')}</h1>
<p class="overall overall-${state}">${stateBadge(state, word)}</p>
${dashboard.description ? html`<p class="prose soft">${visible(dashboard.description)}</p>` : ''}
${open.length === 0 ? '' : html`<section><h2>Open incidents</h2>${open.map(noticeOf).map(openNotice)}</section>`}
<section class="card"><h2>Checks</h2>${
    checks.length === 0
      ? html`<p class="empty">No check has the tags of the dashboard.</p>`
      : html`<ul>${checks.map((check) => checkRow(check, dashboard))}</ul>`
  }</section>
${pager({ ...pagination, of: 'checks', href: pageHref })}
${over.length === 0 ? '' : html`<section><h2>History</h2>${over.map(noticeOf).map(pastNotice)}</section>`}`;
}

/** Summarizes all checks of all pages. Unknown states are not called passing. */
function headline({ summary }: DashboardData): { state: State; word: string } {
  const { passing, degraded, failing, notJudged, notMeasured, pending, paused, unknown } = summary;
  const total = passing + degraded + failing + unknown;
  const of = counted(total, 'check');
  if (total === 0) return { state: 'missed', word: 'No checks' };
  if (failing > 0) return { state: 'failed', word: `${failing} of ${of} failing` };
  if (degraded > 0) return { state: 'degraded', word: `${degraded} of ${of} degraded` };
  const unsure = [
    notMeasured > 0 ? `${notMeasured} of ${of} not measured` : [],
    notJudged > 0 ? `${notJudged} of ${of} not judged` : [],
    pending > 0 ? `${pending} of ${of} not run yet` : [],
  ].flat();
  if (unsure.length > 0) return { state: 'missed', word: `None failing; ${unsure.join(', ')}` };
  if (passing === 0) return { state: 'off', word: total === 1 ? 'The check is paused' : `All ${of} paused` };
  if (paused > 0) return { state: 'passed', word: `${passing} of ${of} passing, ${paused} paused` };
  return { state: 'passed', word: total === 1 ? 'The check is passing' : `All ${of} passing` };
}

function checkRow(check: Check, options: DashboardData['dashboard']): Html {
  const { name, state, groupName, tags, last24Hours, last7Days, lastRuns, days } = check;
  const shown = lastRuns.toReversed();
  const label = `The last ${counted(shown.length, 'run')} of ${visible(name)}`;
  return html`<li class="service"><div class="card-line"><h3>${visible(name)}</h3>${stateBadge(shownStates[state])}</div>
<p class="small soft">${groupName === null ? '' : visible(groupName)} ${tags.map((tag) => html`<span class="tag">${visible(tag)}</span> `)}</p>
<div class="dashboard-line"><div>${bars(label, shown.map(runBar), { slots: runsShown })}<p class="small soft">Last ${counted(shown.length, 'run')}</p></div>
<div>${coverageBars(days)}<p class="small soft">Measured, ${days.length} days</p></div>
<dl class="dashboard-figures">${figures('24 h', last24Hours, options)}${figures('7 days', last7Days, options)}</dl></div>
<details${options.expandChecks ? html` open` : ''}><summary class="small">Runs</summary><div>
${
  lastRuns.length === 0
    ? html`<p class="small soft">No runs in the last 24 hours.</p>`
    : html`<ol class="runs small">${lastRuns.map((run) => runLine(check, run))}</ol>`
}</div></details></li>`;
}

/** Shows the measured share of each day, regardless of the outcome of the runs: the grey part was not measured. */
function coverageBars(days: Check['days']): Html {
  const words = days.map(
    ({ date, coverage }) =>
      `${date}: ${coverage.due === 0 ? 'no runs were due' : (coverageText(coverage) ?? 'all measured')}`,
  );
  return html`<p class="hidden">${words.join('; ')}.</p><svg class="coverage" viewBox="0 0 ${days.length * 16} 20" width="${days.length * 16}" height="20" aria-hidden="true">${days.map(
    ({ coverage }, index) => {
      const known = coverage.evaluated === 0 ? 0 : Math.max(2, (20 * (coverage.percent ?? 0)) / 100);
      const rect = (name: string, y: number, height: number) =>
        html`<rect class="${name}" x="${index * 16 + 1}" y="${y.toFixed(1)}" width="14" height="${height.toFixed(1)}"/>`;
      return html`<g><title>${words[index]}</title>${coverage.due === 0 ? '' : [rect('day-unmeasured', 0, 20 - known), rect('day-known', 20 - known, known)]}</g>`;
    },
  )}</svg>`;
}

function runBar(run: Run): Bar {
  const at = `${utc(run.startedAt)}, ${run.runLocation}`;
  const word = run.state === 'unknown' ? 'could not be judged' : run.state;
  return {
    state: verdicts[run.state],
    title: `${at}: ${run.isOnDemand ? 'on demand, ' : ''}${word}, ${duration(run.responseTime)}`,
    isOnDemand: run.isOnDemand,
    href: null,
  };
}

function runLine({ checkId }: Check, run: Run): Html {
  const state = verdicts[run.state];
  const id = run.resultUrl?.split('/').at(-1);
  const when = instant(run.startedAt);
  return html`<li>${stateBadge(state)} <span>${id === undefined ? when : html`<a href="${path`/checks/${checkId}/runs/${id}`}">${when}</a>`}</span> <span>${duration(run.responseTime)}</span> <span class="soft">${visible(run.runLocation)}${run.isOnDemand ? ', on demand' : ''}</span></li>`;
}

/** Shows availability next to coverage, and response times. */
function figures(title: string, figure: Figures, options: DashboardData['dashboard']): Html {
  const covered = coverageText(figure.coverage);
  const isKnown = covered !== notMeasured && figure.successRatio !== null;
  const ratio = isKnown ? percent(shareOfPercent(figure.successRatio ?? 0)) : notMeasured;
  const times = [
    figure.avg === null ? [] : `avg ${duration(figure.avg)}`,
    options.showP95 && figure.p95 !== null ? `p95 ${duration(figure.p95)}` : [],
    options.showP99 && figure.p99 !== null ? `p99 ${duration(figure.p99)}` : [],
  ].flat();
  return html`<div><dt class="small soft">${title}</dt><dd><b>${ratio}</b>${isKnown && covered !== null ? html` <span class="small">${covered}</span>` : ''}</dd>
${times.length === 0 ? '' : html`<dd class="small soft">${times.map((time) => html`<span class="figure">${time}</span> `)}</dd>`}</div>`;
}

const impactWords = { MAJOR: 'Major problem', MINOR: 'Minor problem', MAINTENANCE: 'Maintenance' } as const;

function noticeOf(incident: Incident): Notice {
  const { id, name, impact, startedAt, stoppedAt, incidentUpdates } = incident;
  const [newest] = incidentUpdates;
  const lengthMs = stoppedAt === null ? null : Date.parse(stoppedAt) - Date.parse(startedAt);
  return {
    id: `incident-${id}`,
    name,
    state: impact === 'MAJOR' ? 'failed' : 'degraded',
    word: `${impactWords[impact]}${newest ? ` · ${statusWord(newest.status)}` : ''}`,
    when:
      lengthMs === null
        ? html`since ${instant(startedAt)}`
        : html`${instant(startedAt)}, ${duration(lengthMs)}`,
    services: [],
    updates: incidentUpdates.map(({ status, description, created_at: at }) => ({ status, description, at })),
  };
}
