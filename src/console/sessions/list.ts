import { checkSessionRoutes } from '@picket/protocol/sessions/check-session.ts';
import { testSessionRoutes } from '@picket/protocol/sessions/test-session.ts';
import { csrfField } from '../elements/form.ts';
import { ago, duration, shortened } from '../elements/format.ts';
import { table } from '../elements/table.ts';
import { visible } from '../elements/text.ts';
import { notice } from '../forms/action.ts';
import { attempt } from '../forms/problems.ts';
import { type Html, html, path, withQuery } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { outcomeCounts, statusBadge } from './words.ts';

const { triggerCheckSessions } = checkSessionRoutes;
const rowsPerPage = 30;

interface Started {
  readonly checkSessionId: string;
  readonly checkId: string;
  readonly name: string;
}

/** Lists test sessions, newest first, and the form that runs checks now. */
export async function listSessions(
  call: PageCall,
  done: { readonly started?: readonly Started[]; readonly refused?: string } = {},
): Promise<View> {
  const { api, query, clock } = call;
  const now = clock.wallMs();
  const search = query.get('q')?.trim().slice(0, 200) ?? '';
  const nextId = /^[0-9a-f-]{36}$/i.exec(query.get('after') ?? '')?.[0];
  const sessions = await api.call(testSessionRoutes.listTestSessions, {
    query: {
      limit: rowsPerPage,
      ...(search.length < 3 ? {} : { textSearch: search }),
      ...(nextId === undefined ? {} : { nextId }),
    },
  });
  const main = html`${heading('Sessions', api.allows(triggerCheckSessions) ? await runForm(call) : '')}${done.refused === undefined ? '' : notice(done.refused, 'refused')}
${done.started === undefined ? '' : startedList(done.started)}
<section><h2>Test sessions</h2>
<p class="hint">Trial runs of checks, such as from a pipeline. They do not count in availability and send no alerts.</p>
<form class="filter-row lead" method="get" action="/sessions" role="search"><label>Name <input type="search" name="q" value="${search}" placeholder="at least 3 letters"></label><button class="button" type="submit">Search</button></form>
${table({
  caption: 'Test sessions, newest first',
  rows: sessions.entries,
  empty:
    search === ''
      ? 'No test sessions yet.'
      : html`No test sessions have this name. <a href="/sessions">Show all</a>`,
  columns: [
    { title: 'State', cell: ({ status }) => statusBadge(status) },
    {
      title: 'Name',
      cell: ({ testSessionId, name }) =>
        html`<a href="${path`/sessions/tests/${testSessionId}`}">${shortened(name, 120)}</a>`,
    },
    { title: 'Checks', cell: outcomeCounts },
    {
      title: 'From',
      cell: ({ branchName, commitOwner }) =>
        visible(shortened([branchName, commitOwner].filter(Boolean).join(' · ') || '–', 60)),
    },
    { title: 'Location', cell: ({ runLocation }) => html`<code>${shortened(runLocation, 40)}</code>` },
    { title: 'Started', cell: ({ startedAt }) => ago(Date.parse(startedAt), now) },
    { title: 'Duration', isNumber: true, cell: ({ timeElapsed }) => duration(timeElapsed) },
  ],
})}${
  sessions.nextId === null
    ? ''
    : html`<nav class="pager" aria-label="Pages of test sessions"><span></span><a rel="next" href="${withQuery('/sessions', { q: search, after: sessions.nextId })}">Older →</a></nav>`
}</section>`;
  return { main, ...(done.refused === undefined ? {} : { statusCode: 422 }) };
}

async function runForm({ store, viewer }: PageCall): Promise<Html> {
  const { tags } = await store.overviews.choices(viewer.accountId);
  if (tags.length === 0) return html``;
  return html`<form class="filter-row" method="post" action="/sessions" title="Their results count like scheduled ones">${csrfField(viewer)}<label>All checks tagged <select name="tag">${tags.map((tag) => html`<option value="${tag}">${shortened(tag, 60)}</option>`)}</select></label><button class="button primary" type="submit">Run checks</button></form>`;
}

function startedList(started: readonly Started[]): Html {
  const shown = started.slice(0, 100);
  return notice(
    html`<p>Begun:</p><ul class="plain">${shown.map(
      ({ checkSessionId, name }) =>
        html`<li><a href="${path`/sessions/checks/${checkSessionId}`}">${shortened(name, 120)}</a></li>`,
    )}</ul>${started.length > shown.length ? html`<p>and ${started.length - shown.length} more</p>` : ''}`,
  );
}

/** Runs one check, or all checks with a tag. */
export async function runNow(call: PageCall): Promise<PageAnswer> {
  const { api, form } = call;
  const [checkId, tag] = [form.get('checkId'), form.get('tag')];
  if (!checkId && !tag) return listSessions(call, { refused: 'Choose a tag. No checks were run.' });
  const target = checkId ? { checkId } : { matchTags: [[tag ?? '']] };
  const { done, problems } = await attempt(() => api.call(triggerCheckSessions, { body: { target } }));
  if (!done) return listSessions(call, { refused: problems.message });
  const { sessions } = done;
  const [only] = sessions;
  if (sessions.length === 1 && only) return { goTo: path`/sessions/checks/${only.checkSessionId}` };
  return listSessions(call, { started: sessions });
}
