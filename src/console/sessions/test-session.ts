import { AppError } from '@picket/lib/errors.ts';
import { testSessionRoutes } from '@picket/protocol/sessions/test-session.ts';
import { duration, instant, shortened } from '../elements/format.ts';
import { facts, table } from '../elements/table.ts';
import { actionButton } from '../forms/action.ts';
import { html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { following, resultBadge, statusBadge } from './words.ts';

/** Redirects the links that command lines print, which contain the account. */
export async function linkedTestSession({ params, viewer }: PageCall): Promise<PageAnswer> {
  const { account = '', id = '' } = params;
  if (account !== viewer.accountId) {
    throw new AppError('NOT_FOUND', 'The link is for another account. Log in there and open it again.');
  }
  return { goTo: path`/sessions/tests/${id}` };
}

/** Shows a test session: its progress and its results. */
export async function showTestSession({ api, params, store, viewer }: PageCall): Promise<View> {
  const { id = '' } = params;
  const session = await api.call(testSessionRoutes.getTestSession, { params: { id } });
  const isOver = session.stoppedAt !== null;
  const checks = await store.checks.findMany(session.results.map(({ checkId }) => checkId));
  const from = Object.entries(session.metadata).filter(([, value]) => typeof value === 'string');
  const main = html`<nav class="crumbs"><a href="/sessions">Sessions</a></nav>${heading(
    shortened(session.name, 200),
    !isOver && api.allows(testSessionRoutes.cancelTestSession)
      ? html`<div class="row-actions">${actionButton({ to: path`/sessions/tests/${id}/cancel`, word: 'Cancel', viewer })}</div>`
      : '',
  )}<p class="lead">${statusBadge(session.status)}</p>${isOver ? '' : following(path`/sessions/tests/${id}`)}
${facts([
  ['Begun', instant(session.startedAt)],
  [isOver ? 'Took' : 'Duration', duration(session.timeElapsed)],
  ['Location', html`<code>${shortened(session.runLocation, 64)}</code>`],
  ['Project', session.projectId === null ? null : shortened(session.projectId, 120)],
  ...from.map(([name, value]) => [metadataWords[name] ?? name, shortened(String(value), 300)] as const),
])}
<section><h2>Checks</h2>${table({
    caption: 'Checks of the session',
    rows: session.results,
    empty: 'No check matched the request.',
    columns: [
      { title: 'State', cell: resultBadge },
      {
        title: 'Check',
        cell: ({ checkId, name }) =>
          // A definition that was only tested is not a check and has no page besides its result.
          checks.has(checkId)
            ? html`<a href="${path`/checks/${checkId}`}">${shortened(name, 120)}</a>`
            : shortened(name, 120),
      },
      {
        title: 'Result',
        cell: ({ testSessionResultLink, testSessionResultId, message }) =>
          testSessionResultLink === null
            ? (message ?? '–')
            : html`<a href="${path`/sessions/tests/${id}/results/${testSessionResultId}`}">Show the run</a>`,
      },
      { title: 'Location', cell: ({ runLocation }) => html`<code>${shortened(runLocation, 40)}</code>` },
    ],
  })}</section>`;
  return { title: session.name, main };
}

const metadataWords: Readonly<Record<string, string>> = {
  environment: 'Environment',
  repoUrl: 'Repository',
  commitId: 'Commit',
  commitOwner: 'By',
  commitMessage: 'Message',
  branchName: 'Branch',
  provider: 'Started by',
  askedLocation: 'Requested, if the client set no location',
};

export async function cancelTestRuns({ api, params }: PageCall): Promise<PageAnswer> {
  const { id = '' } = params;
  await api.call(testSessionRoutes.cancelTestSession, { params: { id }, body: null });
  return { goTo: path`/sessions/tests/${id}` };
}
