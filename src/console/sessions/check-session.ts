import { checkSessionRoutes } from '@picket/protocol/sessions/check-session.ts';
import { duration, instant, shortened } from '../elements/format.ts';
import { facts, table } from '../elements/table.ts';
import { actionButton } from '../forms/action.ts';
import { html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { following, resultBadge, statusBadge } from './words.ts';

/** Shows an on-demand run of a check: its progress and its results. */
export async function showCheckSession({ api, params, viewer }: PageCall): Promise<View> {
  const { id = '' } = params;
  const session = await api.call(checkSessionRoutes.getCheckSession, { params: { id } });
  const isOver = session.stoppedAt !== null;
  const name = shortened(session.name, 200);
  const main = html`<nav class="crumbs"><a href="/sessions">Sessions</a></nav>${heading(
    name,
    !isOver && api.allows(checkSessionRoutes.cancelCheckSession)
      ? html`<div class="row-actions">${actionButton({ to: path`/sessions/checks/${id}/cancel`, word: 'Cancel', viewer })}</div>`
      : '',
  )}<p class="lead">${statusBadge(session.status)}</p>${isOver ? '' : following(path`/sessions/checks/${id}`)}
${facts([
  ['Check', html`<a href="${path`/checks/${session.checkId}`}">${name}</a>`],
  ['Begun', instant(session.startedAt)],
  [isOver ? 'Took' : 'Duration', duration(session.timeElapsed)],
  ['Requested by', session.runSource.toLowerCase().replaceAll('_', ' ')],
  ['Locations', session.runLocations.join(', ')],
])}
<section><h2>Runs</h2>${table({
    caption: 'Runs of the session',
    rows: session.results,
    empty: 'No run has finished yet.',
    columns: [
      { title: 'State', cell: resultBadge },
      { title: 'Location', cell: ({ runLocation }) => html`<code>${shortened(runLocation, 40)}</code>` },
      {
        title: 'Result',
        cell: ({ checkId, checkResultId, message }) =>
          checkResultId === null
            ? (message ?? '–')
            : html`<a href="${path`/checks/${checkId}/runs/${checkResultId}`}">Show the run</a>`,
      },
    ],
  })}</section>`;
  return { title: session.name, main };
}

export async function cancelCheckRuns({ api, params }: PageCall): Promise<PageAnswer> {
  const { id = '' } = params;
  await api.call(checkSessionRoutes.cancelCheckSession, { params: { id }, body: null });
  return { goTo: path`/sessions/checks/${id}` };
}
