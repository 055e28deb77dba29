import { AppError } from '@picket/lib/errors.ts';
import { dictionary } from '@picket/lib/names/dictionary.ts';
import type { CheckResult } from '@picket/protocol/results/check-result.ts';
import { followedLogRoutes } from '@picket/protocol/sessions/live-log.ts';
import { type TestSession, testSessionRoutes } from '@picket/protocol/sessions/test-session.ts';
import { copyable } from '../elements/copy.ts';
import { factLine } from '../elements/fact-lists.ts';
import { duration, instant, shortened } from '../elements/format.ts';
import { table } from '../elements/table.ts';
import { visible } from '../elements/text.ts';
import { actionButton } from '../forms/action.ts';
import { type Content, type Html, html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { progressList, type RunRow } from './progress.ts';
import { following, outcomeCounts, resultBadge, statusBadge } from './words.ts';

/** A session of this many checks shows the progress of each, with its log; a larger one a row for each. */
const followedRuns = 3;

/** Checks that exist, by id. */
type Checks = ReadonlyMap<string, unknown>;

/** Redirects the links that command lines print, which contain the account. */
export async function linkedTestSession({ params, viewer }: PageCall): Promise<PageAnswer> {
  const { account = '', id = '' } = params;
  if (account !== viewer.accountId) {
    throw new AppError('NOT_FOUND', 'The link is for another account. Log in there and open it again.');
  }
  return { goTo: path`/sessions/tests/${id}` };
}

/** Shows a test session: its progress and its results. */
export async function showTestSession(call: PageCall): Promise<View> {
  const { api, params, store, viewer } = call;
  const { id = '' } = params;
  const session = await api.call(testSessionRoutes.getTestSession, { params: { id } });
  const isOver = session.stoppedAt !== null;
  const [checks, runs] = await Promise.all([
    store.checks.findMany(session.results.map(({ checkId }) => checkId)),
    store.testSessions.runs(id),
  ]);
  const from = Object.entries(session.metadata).filter(([, value]) => typeof value === 'string');
  const main = html`<nav class="crumbs"><a href="/sessions">Sessions</a></nav>${heading(
    shortened(session.name, 200),
    !isOver && api.allows(testSessionRoutes.cancelTestSession)
      ? html`<div class="actions">${actionButton({ to: path`/sessions/tests/${id}/cancel`, word: 'Cancel', viewer })}</div>`
      : '',
  )}<p class="lead" role="status">${statusBadge(session.status)} <span class="soft">${outcomeCounts(session)}</span></p>${isOver ? '' : following(path`/sessions/tests/${id}`)}
${factLine([
  ['Started', instant(session.startedAt)],
  ['Duration', duration(session.timeElapsed)],
  ['Location', html`<code>${shortened(session.runLocation, 64)}</code>`],
  ['Project', session.projectId === null ? null : shortened(session.projectId, 120)],
  ...from.map(([name, value]) => [metadataWords[name] ?? name, shortened(String(value), 300)] as const),
  ['Session', copyable(id, 'the id of the session')],
])}
${
  runs.length > 0 && runs.length <= followedRuns
    ? await progressSection(call, session, { runs, checks })
    : checkTable(session, checks)
}`;
  return { title: session.name, main };
}

/** Shows the runs of a small session as they go, with their logs. */
async function progressSection(
  { api, clock }: PageCall,
  session: TestSession,
  { runs, checks }: { readonly runs: readonly RunRow[]; readonly checks: Checks },
): Promise<Html> {
  const { id } = session;
  const shown = session.results.filter(({ testSessionResultLink }) => testSessionResultLink !== null);
  const [live, ...results] = await Promise.all([
    session.stoppedAt === null
      ? api.call(followedLogRoutes.getTestSessionLiveLog, { params: { id } })
      : undefined,
    ...shown.map(({ testSessionResultId: resultId }) =>
      api.call(testSessionRoutes.getTestSessionResult, { params: { id, resultId } }),
    ),
  ]);
  const names = new Map(session.results.map(({ sequenceId, name }) => [sequenceId, name]));
  const bySequence = Map.groupBy(results, ({ sequenceId }) => sequenceId);
  const hrefOf = (result: CheckResult) => path`/sessions/tests/${id}/results/${result.id}`;
  const progress = runs.map((run) => ({
    ...{ run, name: checkLink(run.check_id, names.get(run.sequence_id) ?? '', checks), hrefOf },
    results: bySequence.get(run.sequence_id) ?? [],
    live: live?.runs.find(({ sequenceId }) => sequenceId === run.sequence_id),
  }));
  return html`<section><h2>Runs</h2>${progressList(progress, clock.wallMs())}</section>`;
}

/** A definition that was only tested is not a check and has no page besides its result. */
function checkLink(checkId: string, name: string, checks: Checks): Content {
  const shown = visible(shortened(name, 120));
  return checks.has(checkId) ? html`<a href="${path`/checks/${checkId}`}">${shown}</a>` : shown;
}

function checkTable(session: TestSession, checks: Checks): Content {
  const { testSessionId: id } = session;
  return html`<section><h2>Checks</h2>${table({
    caption: 'Checks of the session',
    rows: session.results,
    empty: 'No check matched the request.',
    columns: [
      { title: 'State', cell: resultBadge },
      {
        title: 'Check',
        cell: ({ checkId, name }) => checkLink(checkId, name, checks),
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
}

const metadataWords = dictionary<string>({
  environment: 'Environment',
  repoUrl: 'Repository',
  commitId: 'Commit',
  commitOwner: 'By',
  commitMessage: 'Message',
  branchName: 'Branch',
  provider: 'Started by',
  askedLocation: 'Requested, if the client set no location',
});

export async function cancelTestRuns({ api, params }: PageCall): Promise<PageAnswer> {
  const { id = '' } = params;
  await api.call(testSessionRoutes.cancelTestSession, { params: { id }, body: null });
  return { goTo: path`/sessions/tests/${id}` };
}
