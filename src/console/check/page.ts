import { findCheckType } from '@picket/checks/index.ts';
import { AppError } from '@picket/lib/errors.ts';
import type { AuditEntry } from '@picket/protocol/accounts/audit-log.ts';
import { checkRoutes } from '@picket/protocol/checks/check.ts';
import { checkSessionRoutes } from '@picket/protocol/sessions/check-session.ts';
import type { StandingCheck } from '@picket/service/checks/state/states.ts';
import { planSection } from '../agentic/plan-section.ts';
import { textField } from '../elements/form.ts';
import { ago, duration, instant, shortened } from '../elements/format.ts';
import { managedNotice } from '../elements/managed.ts';
import { type State, stateBadge } from '../elements/state.ts';
import { facts } from '../elements/table.ts';
import { block, section, visible } from '../elements/text.ts';
import { changeList, lastAuthor, lastChangesOf } from '../history/last-changes.ts';
import { type Content, type Html, html, path, withQuery } from '../html.ts';
import { factsOf, runCause } from '../overview/row.ts';
import { sinceOf } from '../overview/since.ts';
import type { Page, PageCall, View } from '../page.ts';
import { runAgainForm } from '../run/parts.ts';
import { errorSection, errorsIn } from './errors.ts';
import { eventsIn } from './events.ts';
import { heartbeatPart } from './heartbeat.ts';
import { numberSections } from './numbers.ts';
import { type Range, rangeNames, rangeOf, ranges } from './range.ts';
import { retryWords } from './retries.ts';
import { slotSection, slotsIn } from './slots.ts';

/** The same number as in a row of the overview. */
const recentSlots = 30;

export const checkPages: readonly Page[] = [
  { path: '/checks/:checkId', title: 'Check', role: 'READ_ONLY', handler: checkPage },
];

async function checkPage(call: PageCall): Promise<View> {
  const { api, params, query, store, viewer, clock } = call;
  const { checkId = '' } = params;
  const now = clock.wallMs();
  const check = await api.call(checkRoutes.getCheck, {
    params: { id: checkId },
    query: { includeDependencies: 'false' },
  });
  const stored = await store.checks.find(viewer.accountId, checkId);
  const [row] = await store.overviews.list(
    viewer.accountId,
    { checkId },
    { page: { limit: 1, offset: 0 }, now },
  );
  const standing = (await store.states.of(viewer.accountId, [checkId], now)).get(checkId);
  const type = findCheckType(check.checkType);
  if (!row || !stored || !type) throw new AppError('NOT_FOUND', `There is no check ${checkId}.`);
  const since = sinceOf(row);
  const places = check.runParallel ? Math.max(1, row.locations.length) : 1;
  const frequencyMs = type.pings ? 0 : intervalMs(check);
  const range = rangeOf(query, frequencyMs / places, now);
  const happened = eventsIn(call, stored, range);
  const marks = happened.then((events) => events.marks);
  const resource = `checks/${check.id}`;
  const [slots, numbers, groups, events, session, changes, plan, retries, why] = await Promise.all([
    slotsIn(call, checkId, range),
    numberSections(call, { checkId, type, range, marks }),
    errorsIn(call, checkId, range),
    happened,
    sessionNotice(call, checkId, query.get('session')),
    lastChangesOf(call, resource),
    planSection(call, checkId, type),
    retryWords(call, stored, type),
    whyNotWell(call, checkId, row.state),
  ]);
  const main = html`<p class="crumbs"><a href="/">Overview</a></p>
<div class="heading"><h1>${visible(shortened(check.name, 300))}</h1><div class="actions">${type.pings ? '' : runAgainForm(call, checkId)}${editLink(call, checkId)}</div></div>
<p class="check-line">${stateBadge(row.state)} ${since === null || row.state === 'passed' ? '' : html`for ${duration(now - since)}, since ${instant(since)}`} <span class="soft">${type.title}${frequencyMs > 0 ? ` · every ${duration(frequencyMs)}` : ''}${row.locations.length > 0 ? html` · ${visible(shortened(row.locations.join(', '), 120))}` : ''}${row.lastSlotAt === null ? '' : html` · last run ${ago(row.lastSlotAt, now)}`}${row.isMuted ? ' · muted' : ''}</span></p>
${why}${notMeasuredNotice(standing)}${check.warnings.map(({ message }) => html`<p class="notice">${message}</p>`)}${managedNotice(check)}${session}${await heartbeatPart(call, check, type)}
${rangeLinks(checkId, range)}
${numbers.summary}
${slotSection(slots)}${numbers.sections}${errorSection(groups, now)}${events.section}${plan}${configuration(check, { changes, list: changeList(resource, changes, now), retries })}`;
  return { title: shortened(check.name, 80), main, isLive: true, liveCheckId: checkId };
}

/** Shows why the newest run that did not pass failed, in the words of the overview. */
async function whyNotWell({ store, clock }: PageCall, checkId: string, state: State): Promise<Content> {
  if (state !== 'failed' && state !== 'error') return '';
  const slots =
    (await store.overviews.recentSlots([checkId], recentSlots, clock.wallMs())).get(checkId) ?? [];
  const bad = slots.find((slot) => slot.has_failures === 1 || slot.has_errors === 1);
  return bad ? html`<p class="cause">${runCause(factsOf(bad))}</p>` : '';
}

/** The other locations determine the state of the check. */
function notMeasuredNotice(standing: StandingCheck | undefined): Content {
  if (!standing || standing.state === 'not-measured' || standing.notMeasuredAt.length === 0) return '';
  return html`<p class="notice">Not measured at ${visible(shortened(standing.notMeasuredAt.join(', '), 200))}.</p>`;
}

function editLink({ api }: PageCall, checkId: string): Content {
  if (!api.allows(checkRoutes.updateCheck)) return '';
  return html`<a class="button" href="${path`/checks/${checkId}/edit`}">Edit</a>`;
}

/** Returns the milliseconds from one slot to the next; 0 for checks without a schedule. */
function intervalMs(check: Readonly<Record<string, unknown>>): number {
  const { frequency, frequencyOffset } = check;
  if (typeof frequency !== 'number') return 0;
  return frequency > 0 ? frequency * 60_000 : Number(frequencyOffset ?? 0) * 1_000;
}

function rangeLinks(checkId: string, range: Range): Html {
  return html`<nav class="ranges" aria-label="Range"><ul>${rangeNames.map(
    (name) =>
      html`<li><a href="${withQuery(path`/checks/${checkId}`, { range: name })}"${range.name === name ? html` aria-current="true"` : ''}>${ranges[name].word}</a></li>`,
  )}</ul>${range.name === null ? html`<span class="soft">${instant(range.from)} to ${instant(range.to)}</span>` : ''}
<details class="own-range"><summary>Other range</summary><form method="get" action="${path`/checks/${checkId}`}">${rangeField('from', 'From (UTC)', range.from)}${rangeField('to', 'To (UTC)', range.to)}<button class="button" type="submit">Show</button></form></details></nav>`;
}

/** The value includes seconds and zone: the sent text is parsed unchanged. */
function rangeField(name: string, label: string, at: number): Html {
  return textField({ name, label, value: `${new Date(at).toISOString().slice(0, 19)}Z` });
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

function configuration(
  check: Readonly<Record<string, unknown>>,
  {
    changes,
    list,
    retries,
  }: { readonly changes: readonly AuditEntry[]; readonly list: Content; readonly retries: string },
): Content {
  const { request } = check;
  const url = typeof request === 'object' && request !== null && 'url' in request ? String(request.url) : '';
  const tags = Array.isArray(check['tags']) ? (check['tags'] as string[]) : [];
  return section(
    'Configuration',
    html`${facts([
      ['Address', url === '' ? '' : html`<code>${visible(shortened(url, 400))}</code>`],
      [
        'Tags',
        tags.map(
          (tag) => html`<a class="tag" href="${withQuery('/', { tag })}">${visible(shortened(tag, 40))}</a> `,
        ),
      ],
      ['Retries', retries],
      ['Degraded over', limitWords(check['degradedResponseTime'])],
      ['Fails over', limitWords(check['maxResponseTime'])],
      [
        'Changed',
        typeof check['updated_at'] === 'string'
          ? html`${instant(check['updated_at'])}${lastAuthor(changes)}`
          : '',
      ],
    ])}${list}<details><summary>JSON</summary>${block('Definition of the check', JSON.stringify(check, null, 2))}</details>`,
    'configuration',
  );
}

function limitWords(value: unknown): string {
  return typeof value === 'number' ? duration(value) : '';
}
