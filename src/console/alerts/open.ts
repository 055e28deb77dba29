import { failureWords } from '@picket/checks/judging/failure-words.ts';
import { alertHandlingRoutes, type OpenAlert, type Silence } from '@picket/protocol/alerts/alert-handling.ts';
import { ago, instant, shortened } from '../elements/format.ts';
import { type State, stateBadge } from '../elements/state.ts';
import { table } from '../elements/table.ts';
import { visible } from '../elements/text.ts';
import { actionButton, confirmed, problemNotice } from '../forms/action.ts';
import type { Problems } from '../forms/problems.ts';
import { type Content, type Html, html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';
import { burningSection } from './burning.ts';
import { byCause, joinedSection } from './joined.ts';
import { acknowledgeForm, silenceForm, silenceOfForm } from './silence-form.ts';
import { alertTabs } from './tabs.ts';
import { unmeasuredSection } from './unmeasured.ts';

const { acknowledgeAlert, listAlertActions, listOpenAlerts, listSilences } = alertHandlingRoutes;
const shownAtMost = 100;

const states: Readonly<Record<OpenAlert['state'], State>> = {
  FAILING: 'failed',
  DEGRADED: 'degraded',
  PASSING: 'passed',
};

interface OpenRow extends OpenAlert {
  /** Failure message and link of the last run that did not pass. */
  readonly cause: {
    readonly sentence: string;
    readonly whatFailed: string | null;
    readonly href: string;
  } | null;
}

/** Shows open problems, their start and their owner: one line per cause, however many checks fail because of it. */
export async function showOpen(call: PageCall, refused?: Problems): Promise<View> {
  const { api, store, clock } = call;
  const now = clock.wallMs();
  const open = await api.call(listOpenAlerts, { query: { limit: shownAtMost } });
  const silences = await api.call(listSilences, { query: { active: 'true', limit: shownAtMost } });
  const actions = await api.call(listAlertActions, { query: { limit: 10 } });
  const slots = await store.overviews.recentSlots(
    open.map(({ checkId }) => checkId),
    10,
    now,
  );
  const rows = open.map((alert): OpenRow => {
    const bad = slots.get(alert.checkId)?.find((slot) => slot.has_failures === 1 || slot.has_errors === 1);
    const resultId = bad?.result_id ?? alert.checkResultId;
    const other = alert.state === 'DEGRADED' ? 'Slower than allowed' : 'Show the run';
    const { sentence, whatFailed } = bad ? failureWords(bad) : { sentence: other, whatFailed: null };
    const href = path`/checks/${alert.checkId}/runs/${resultId ?? ''}`;
    return { ...alert, cause: resultId === null ? null : { sentence, whatFailed, href } };
  });
  const { joined, alone } = await byCause(call, rows);
  const tableOf = (some: readonly OpenRow[]) => openTable(call, some, now);
  const main = html`${heading('Alerts')}${alertTabs('/alerts')}${problemNotice(refused)}
${joined.map((one) => joinedSection(one, now, tableOf))}
${joined.length > 0 && alone.length === 0 ? '' : tableOf(alone)}
${await unmeasuredSection(call, now)}
${await burningSection(call, now)}
<section><h2>Silences</h2>${silenceTable(call, silences, now)}
${api.allows(alertHandlingRoutes.createSilence) ? silenceForm(call.viewer, await store.overviews.choices(call.viewer.accountId), refused) : ''}</section>
<section><h2>Log</h2>${actionTable(actions, now)}</section>`;
  // The page contains forms: it is not refreshed while a user fills them in.
  return { main, ...(refused ? { statusCode: refused.statusCode } : {}) };
}

function openTable(call: PageCall, rows: readonly OpenRow[], now: number): Html {
  const mayHandle = call.api.allows(acknowledgeAlert);
  return table({
    caption: 'Open alerts',
    rows,
    empty: 'No open alerts: no check is failing or degraded.',
    columns: [
      {
        title: 'State',
        cell: ({ state, isFlapping }) =>
          html`${stateBadge(states[state])}${isFlapping ? html`<br><span class="small soft">flaps</span>` : ''}`,
      },
      {
        title: 'Check and reason',
        cell: ({ checkId, name, cause }) =>
          html`<a href="${path`/checks/${checkId}`}"><b>${shortened(name, 120)}</b></a>${
            cause === null
              ? ''
              : html`<br><a class="small" href="${cause.href}">${visible(shortened(cause.sentence, 200))}</a>${cause.whatFailed === null ? '' : html` <span class="small soft">(${cause.whatFailed})</span>`}`
          }`,
      },
      {
        title: 'Since',
        cell: ({ since }) => (since === null ? '–' : html`${ago(Date.parse(since), now)}`),
      },
      { title: 'Notified', cell: (alert) => knownBy(alert, now) },
      ...(mayHandle ? [{ title: 'Actions', cell: (alert: OpenRow) => handling(call, alert) }] : []),
    ],
  });
}

function knownBy(alert: OpenAlert, now: number): Content {
  const { acknowledgement, silencedUntil, suppressedBy, isNotified, notified, remindersSent } = alert;
  return [
    acknowledgement
      ? html`<b>${shortened(acknowledgement.by.name, 60)}</b>, ${ago(Date.parse(acknowledgement.at), now)}${
          acknowledgement.comment === null ? '' : html`<br>“${shortened(acknowledgement.comment, 200)}”`
        }<br>`
      : '',
    silencedUntil === null ? '' : html`silenced until ${instant(silencedUntil)}<br>`,
    suppressedBy === 'muted'
      ? html`muted<br>`
      : suppressedBy === 'maintenance'
        ? html`in maintenance<br>`
        : '',
    isNotified
      ? `notified: ${shortened(notified.words, 200)}${remindersSent > 0 ? `, reminders: ${remindersSent}` : ''}`
      : html`<span class="soft">${shortened(notified.words, 200)}</span>`,
  ];
}

function handling({ viewer }: PageCall, { checkId, name, acknowledgement, silencedUntil }: OpenAlert): Html {
  const here = path`/alerts/checks/${checkId}`;
  const about = shortened(name, 60);
  return html`<div class="row-actions">${
    acknowledgement
      ? actionButton({ to: `${here}/withdraw`, word: 'Undo', about, viewer })
      : acknowledgeForm(viewer, `${here}/acknowledge`, about)
  }${silencedUntil === null ? silenceOfForm(viewer, checkId, about) : ''}</div>`;
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
