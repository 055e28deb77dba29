import { checkResultRoutes } from '@picket/protocol/results/check-result.ts';
import { checkSessionRoutes } from '@picket/protocol/sessions/check-session.ts';
import { followedLogRoutes } from '@picket/protocol/sessions/live-log.ts';
import { copyable } from '../elements/copy.ts';
import { factLine } from '../elements/fact-lists.ts';
import { duration, instant, shortened } from '../elements/format.ts';
import { actionButton } from '../forms/action.ts';
import { html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { runAgainForm } from '../run/parts.ts';
import { progressList, runHref } from './progress.ts';
import { following, statusBadge } from './words.ts';

/** A check may run at many locations, and each may be retried: only the newest results are read with their logs. */
const shownResults = 20;

/** Shows an on-demand run of a check as it goes: queued, claimed, running, and the log of each attempt. */
export async function showCheckSession(call: PageCall): Promise<View> {
  const { api, params, viewer, store, clock } = call;
  const { id = '' } = params;
  const session = await api.call(checkSessionRoutes.getCheckSession, { params: { id } });
  const { checkId } = session;
  const isOver = session.stoppedAt !== null;
  const name = shortened(session.name, 200);
  const ids = session.results.flatMap(({ checkResultId }) => checkResultId ?? []).slice(-shownResults);
  const [runs, live, results] = await Promise.all([
    store.checkSessions.runs([id]),
    isOver ? undefined : api.call(followedLogRoutes.getCheckSessionLiveLog, { params: { id } }),
    Promise.all(
      ids.map((checkResultId) =>
        api.call(checkResultRoutes.getCheckResult, { params: { checkId, checkResultId } }),
      ),
    ),
  ]);
  const bySequence = Map.groupBy(results, ({ sequenceId }) => sequenceId);
  const cancel =
    !isOver && api.allows(checkSessionRoutes.cancelCheckSession)
      ? actionButton({ to: path`/sessions/checks/${id}/cancel`, word: 'Cancel', viewer })
      : '';
  const main = html`<nav class="crumbs"><a href="/sessions">Sessions</a> / <a href="${path`/checks/${checkId}`}">${name}</a></nav>${heading(
    name,
    html`<div class="actions">${isOver ? runAgainForm(call, checkId) : cancel}</div>`,
  )}<p class="lead" role="status">${statusBadge(session.status)}</p>${isOver ? '' : following(path`/sessions/checks/${id}`)}
${factLine([
  ['Started', instant(session.startedAt)],
  ['Duration', duration(session.timeElapsed)],
  ['Requested by', session.runSource.toLowerCase().replaceAll('_', ' ')],
  ['Session', copyable(id, 'the id of the session')],
])}
<section><h2>Runs</h2>${progressList(
    runs.map((run) => ({
      run,
      results: bySequence.get(run.sequence_id) ?? [],
      hrefOf: runHref,
      live: live?.runs.find(({ sequenceId }) => sequenceId === run.sequence_id),
    })),
    clock.wallMs(),
  )}</section>`;
  return { title: session.name, main };
}

export async function cancelCheckRuns({ api, params }: PageCall): Promise<PageAnswer> {
  const { id = '' } = params;
  await api.call(checkSessionRoutes.cancelCheckSession, { params: { id }, body: null });
  return { goTo: path`/sessions/checks/${id}` };
}
