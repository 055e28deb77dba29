import { alertHandlingRoutes, type Silence } from '@picket/protocol/alerts/alert-handling.ts';
import { ago, instant, shortened } from '../elements/format.ts';
import { table } from '../elements/table.ts';
import { confirmed } from '../forms/action.ts';
import type { Problems } from '../forms/problems.ts';
import { type Content, type Html, html, path } from '../html.ts';
import type { PageCall } from '../page.ts';
import { silenceForm } from './silence-form.ts';

const { createSilence, listAlertActions, listSilences } = alertHandlingRoutes;
const shownAtMost = 100;

/** Shows the active silences with the form for a new one, and the latest actions on alerts. */
export async function handlingSections(call: PageCall, now: number, refused?: Problems): Promise<Html> {
  const { api, store, viewer } = call;
  const silences = await api.call(listSilences, { query: { active: 'true', limit: shownAtMost } });
  const actions = await api.call(listAlertActions, { query: { limit: 10 } });
  const form = api.allows(createSilence)
    ? silenceForm(viewer, await store.overviews.choices(viewer.accountId), refused)
    : '';
  return html`<section><h2>Silences</h2>${silenceTable(call, silences, now)}
${form}</section>
<section><h2>Log</h2>${actionTable(actions, now)}</section>`;
}

function silenceTable({ api, viewer }: PageCall, silences: readonly Silence[], now: number): Html {
  const mayEnd = api.allows(alertHandlingRoutes.endSilence);
  return table({
    caption: 'Active silences',
    rows: silences,
    empty: 'No active silences.',
    columns: [
      { title: 'What', cell: scopeOf },
      { title: 'Until', cell: ({ endsAt }) => instant(endsAt) },
      {
        title: 'By',
        cell: ({ createdBy, created_at }) =>
          html`${shortened(createdBy.name, 60)}, ${ago(Date.parse(created_at), now)}`,
      },
      { title: 'Why', cell: ({ comment }) => shortened(comment ?? '–', 300) },
      ...(mayEnd
        ? [
            {
              title: 'Actions',
              cell: ({ id }: Silence) =>
                confirmed({
                  to: path`/alerts/silences/${id}/end`,
                  word: 'End…',
                  confirmWord: 'End the silence now',
                  question: 'Checks that are failing then send notifications.',
                  viewer,
                }),
            },
          ]
        : []),
    ],
  });
}

function scopeOf({ checkId, tags, location }: Silence): Content {
  if (checkId !== null) return html`<a href="${path`/checks/${checkId}`}">One check</a>`;
  if (tags !== null)
    return html`Tags ${tags.map((tag) => html`<span class="tag">${shortened(tag, 40)}</span> `)}`;
  return html`Location <code>${shortened(location ?? '', 64)}</code>`;
}

const actionWords = {
  ACKNOWLEDGED: 'acknowledged',
  UNACKNOWLEDGED: 'withdrew an acknowledgement',
  SILENCED: 'silenced',
  SILENCE_ENDED: 'ended a silence',
} as const;

function actionTable(
  actions: readonly {
    readonly action: keyof typeof actionWords;
    readonly checkId: string | null;
    readonly comment: string | null;
    readonly by: { readonly name: string; readonly kind: string };
    readonly created_at: string;
  }[],
  now: number,
): Html {
  return table({
    caption: 'Acknowledgements and silences, newest first',
    rows: actions,
    empty: 'No acknowledgements or silences yet.',
    columns: [
      { title: 'When', cell: ({ created_at }) => ago(Date.parse(created_at), now) },
      {
        title: 'Who',
        cell: ({ by }) =>
          `${shortened(by.name, 60)}${by.kind === 'LINK' ? ' (from the link in a message)' : ''}`,
      },
      {
        title: 'What',
        cell: ({ action, checkId }) =>
          html`${actionWords[action]}${checkId === null ? '' : html` <a href="${path`/checks/${checkId}`}">a check</a>`}`,
      },
      { title: 'Why', cell: ({ comment }) => shortened(comment ?? '–', 300) },
    ],
  });
}
