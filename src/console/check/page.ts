import { findCheckType } from '@picket/checks/index.ts';
import { AppError } from '@picket/lib/errors.ts';
import { checkRoutes } from '@picket/protocol/checks/check.ts';
import { noCoverage } from '@picket/protocol/runs/coverage.ts';
import { checkSessionRoutes } from '@picket/protocol/sessions/check-session.ts';
import { withGroups } from '@picket/service/checks/effective-check.ts';
import { expectedSlots } from '@picket/service/checks/timing/expected-slots.ts';
import { intervalOf, timingOf } from '@picket/service/checks/timing/timing.ts';
import { planSection } from '../agentic/plan-section.ts';
import { shortened } from '../elements/format.ts';
import { managedNotice } from '../elements/managed.ts';
import { visible } from '../elements/text.ts';
import { lastChangesOf } from '../history/last-changes.ts';
import { type Content, html, path } from '../html.ts';
import { type Page, type PageCall, posts, type View } from '../page.ts';
import { chartSection } from './chart.ts';
import { configuration } from './configuration.ts';
import { errorSection, errorsIn } from './errors.ts';
import { eventsIn } from './events.ts';
import { figureLine, placeSection } from './figures.ts';
import { header, muteCheck, whyNotWell } from './header.ts';
import { heartbeatPart, pingTimes } from './heartbeat.ts';
import { type RangeFacts, selectionOf } from './range.ts';
import { rangePicker } from './range-picker.ts';
import { mostSlots, runsIn } from './runs.ts';
import { CheckSeries, type ShownMetrics, shownMetrics, type Whole } from './series.ts';
import { isPhase } from './times.ts';
import { retryWords, timingWords } from './timing.ts';

export const checkPages: readonly Page[] = [
  { path: '/checks/:checkId', title: 'Check', role: 'READ_ONLY', handler: checkPage },
  ...posts('/checks/:checkId', { '/muted': ['Mute a check', muteCheck] }),
];

async function checkPage(call: PageCall): Promise<View> {
  const { api, params, query, store, viewer, clock } = call;
  const { checkId = '' } = params;
  const now = clock.wallMs();
  const [check, stored, [row], standing] = await Promise.all([
    api.call(checkRoutes.getCheck, { params: { id: checkId }, query: { includeDependencies: 'false' } }),
    store.checks.find(viewer.accountId, checkId),
    store.overviews.list(viewer.accountId, { checkId }, { page: { limit: 1, offset: 0 }, now }),
    store.states.of(viewer.accountId, [checkId], now),
  ]);
  const type = findCheckType(check.checkType);
  if (!row || !stored || !type) throw new AppError('NOT_FOUND', `There is no check ${checkId}.`);
  const frequencyMs = type.pings ? 0 : intervalOf(stored, now);
  const hasSchedule = !type.pings && check.schedule !== null;
  const places = Math.max(1, row.locations.length);
  const strideMs = check.runParallel ? frequencyMs : frequencyMs * places;
  const [inEffect = stored] = await withGroups(store, [stored]);
  const times = type.pings ? pingTimes(check, type) : timingOf(inEffect);
  const perSlot = inEffect.definition.runParallel === true && !type.pings ? places : 1;
  const expected: RangeFacts['expected'] = (period, most) =>
    times === null ? 0 : perSlot * expectedSlots(times, period, most);
  const selection = selectionOf(checkId, query, { expected, now, createdAt: stored.created });
  const { range, location } = selection;
  const metrics = shownMetrics(type, isPhase);
  const series = new CheckSeries(call, checkId, { type, metrics, range });
  const since = Math.max(range.from, stored.created);
  const shown = Promise.all([
    runsIn(call, checkId, range, expected({ from: since, to: Math.min(range.to, now) }, mostSlots + 1)),
    eventsIn(call, stored, { range, project: check.project }),
  ]).then(async ([runs, events]) => {
    const hasPlaces = places > 1 || location !== null || selection.by === 'location';
    return [await chartSection({ selection, series, runs, events, strideMs, hasPlaces }), events] as const;
  });
  const resource = `checks/${check.id}`;
  const [[chart, events], whole, byPlace, errors, session, changes, plan, retries, why, timing] =
    await Promise.all([
      shown,
      location === null ? series.whole() : undefined,
      series.places(),
      errorsIn(call, checkId, range),
      sessionNotice(call, checkId, query.get('session')),
      lastChangesOf(call, resource),
      planSection(call, checkId, type),
      retryWords(call, stored, type),
      whyNotWell(call, row),
      timingWords(call, stored, { nextRunAt: check.nextRunAt, now }),
    ]);
  const figures = whole ??
    byPlace.find((place) => place.location === location) ?? { row: {}, coverage: noCoverage };
  const facts = { name: check.name, type, row, standing: standing.get(checkId), isOn: check.activated };
  const main = html`${header(call, { ...facts, frequencyMs, hasSchedule, now }, why)}${check.warnings.map(({ message }) => html`<p class="notice">${message}</p>`)}${timing.notice}${managedNotice(check)}${session}${await heartbeatPart(call, check, type)}
${rangePicker(selection, now)}${figureLine(figures, measuredTimes(figures, metrics))}${chart}
${besides([placeSection(byPlace, { time: metrics.time, selection }), errorSection(errors, now), events.section, plan], configuration(check, { resource, changes, retries: type.pings ? '' : retries, timing, now }))}`;
  return { title: shortened(check.name, 80), main, isLive: true, liveCheckId: checkId };
}

/** Events have times only if their jobs report them. */
function measuredTimes({ row }: Whole, { time, isEvents }: ShownMetrics): readonly string[] {
  return isEvents ? time.filter((key) => typeof row[key] === 'number') : time;
}

/** Shows the progress of an on-demand run. */
async function sessionNotice({ api }: PageCall, checkId: string, id: string | null): Promise<Content> {
  if (id === null) return '';
  const session = await api.call(checkSessionRoutes.getCheckSession, { params: { id } });
  const results = session.results.filter(({ resultType }) => resultType === 'FINAL');
  const links = results.flatMap(({ checkResultId, hasFailures, hasErrors, runLocation }) =>
    checkResultId === null
      ? []
      : [
          html` <a href="${path`/checks/${checkId}/runs/${checkResultId}`}">${hasErrors ? 'Not judged' : hasFailures ? 'Failed' : 'Passed'} at ${visible(runLocation)}</a>`,
        ],
  );
  const isOver = session.stoppedAt !== null;
  return html`<p class="notice" role="status">${isOver ? 'The run has finished.' : 'The run is in progress.'}${links}${isOver && links.length === 0 ? ' No agent picked it up in time.' : ''}</p>`;
}

/** Events with the configuration at their right; the configuration alone if nothing happened. */
function besides(happened: readonly Content[], setup: Content): Content {
  if (happened.every((part) => part === '')) return setup;
  return html`<div class="two"><div>${happened}</div><div>${setup}</div></div>`;
}
