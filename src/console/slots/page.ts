import { parseTimestamp } from '@picket/protocol/http/query.ts';
import {
  type Slot,
  type SlotReason,
  slotReasons,
  slotRoutes,
  slotStates,
} from '@picket/protocol/runs/slot.ts';
import { reasonWords, slotState } from '../elements/charts/slot-bar.ts';
import { counted, countText, duration, instant, shortened } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { table } from '../elements/table.ts';
import { visible } from '../elements/text.ts';
import { type Content, type Html, html, path, withQuery } from '../html.ts';
import { heading } from '../layout.ts';
import type { Page, PageCall, View } from '../page.ts';

export const slotPages: readonly Page[] = [
  { path: '/checks/:checkId/slots', title: 'Due runs', role: 'READ_ONLY', handler: showSlots },
];

const stateWords: Readonly<Record<(typeof slotStates)[number], string>> = {
  FINAL: 'Measured',
  MISSED: 'Missed',
  CANCELLED: 'Cancelled',
  QUEUED: 'Queued',
  LEASED: 'Running',
};

const reasons = Object.keys(slotReasons) as SlotReason[];

/** Returns the reason of that name; undefined for one that this version does not know. */
export function reasonOf(name: string | null): SlotReason | undefined {
  return reasons.find((one) => one === name);
}

const verdictWords = {
  PASSED: 'Passed',
  DEGRADED: 'Degraded',
  FAILED: 'Failed',
  ERROR: 'Not judged',
} as const satisfies Record<NonNullable<Slot['verdict']>, string>;

/** The selected records; all without a state or a reason. */
export interface SlotSelection {
  readonly state?: (typeof slotStates)[number];
  readonly reason?: SlotReason;
}

interface SlotChoice extends SlotSelection {
  readonly from?: string;
  readonly to?: string;
  readonly location?: string;
}

/** Lists the due runs of a check in a window, newest first: the records behind each sum of a report. */
async function showSlots(call: PageCall): Promise<View> {
  const { api, params, query, store, viewer } = call;
  const { checkId = '' } = params;
  const choice = choiceOf(query);
  const nextId = query.get('nextId') ?? undefined;
  const [check, { entries, nextId: next }] = await Promise.all([
    store.checks.find(viewer.accountId, checkId),
    api.call(slotRoutes.listCheckSlots, {
      params: { id: checkId },
      query: { limit: 100, ...choice, ...(nextId === undefined ? {} : { nextId }) },
    }),
  ]);
  const here = path`/checks/${checkId}/slots`;
  const main = html`<p class="crumbs"><a href="/">Overview</a> / <a href="${path`/checks/${checkId}`}">${visible(shortened(check?.name ?? '', 120))}</a></p>${heading('Due runs')}
<p class="soft lead">Each due time of the check at each location has exactly one record. ${windowWords(choice)}</p>
${filterForm(here, choice)}
${slotTable(checkId, entries)}
${next === null ? '' : html`<nav class="pager" aria-label="Pages of due runs"><span></span><a rel="next" href="${withQuery(here, { ...choice, nextId: next })}">Older →</a></nav>`}`;
  return { main };
}

function choiceOf(query: URLSearchParams): SlotChoice {
  const at = (name: string) => {
    const ms = parseTimestamp(query.get(name) ?? '');
    return ms === null ? {} : { [name]: new Date(ms).toISOString() };
  };
  const state = slotStates.find((one) => one === query.get('state'));
  const reason = reasonOf(query.get('reason'));
  const location = query.get('location')?.trim().slice(0, 64) ?? '';
  return {
    ...at('from'),
    ...at('to'),
    ...(state === undefined ? {} : { state }),
    ...(reason === undefined ? {} : { reason }),
    ...(location === '' ? {} : { location }),
  };
}

function windowWords({ from, to }: SlotChoice): Content {
  if (from === undefined && to === undefined) return 'The last 24 hours.';
  return html`${from === undefined ? '' : html`From ${instant(from)}`} ${to === undefined ? '' : html`to ${instant(to)}`}`;
}

function filterForm(here: string, { from, to, state, reason, location }: SlotChoice): Html {
  const option = (value: string, word: string, chosen: string | undefined) =>
    html`<option value="${value}"${value === chosen ? html` selected` : ''}>${word}</option>`;
  const kept = (name: string, value: string | undefined) =>
    value === undefined ? '' : html`<input type="hidden" name="${name}" value="${value}">`;
  return html`<form class="filter-row lead" method="get" action="${here}">${kept('from', from)}${kept('to', to)}
<label>State <select name="state">${option('', 'any', state ?? '')}${slotStates.map((one) => option(one, stateWords[one], state))}</select></label>
<label>Reason <select name="reason">${option('', 'any', reason ?? '')}${reasons.map((one) => option(one, one, reason))}</select></label>
<label>Location <input type="search" name="location" value="${location ?? ''}"></label>
<button class="button" type="submit">Filter</button></form>`;
}

function slotTable(checkId: string, slots: readonly Slot[]): Html {
  return table<Slot>({
    caption: 'Due runs and their outcomes',
    rows: slots,
    empty: 'No run was due in this window, or none matches.',
    columns: [
      { title: 'Due', cell: ({ scheduledAt }) => instant(scheduledAt) },
      { title: 'Outcome', cell: (slot) => outcome(checkId, slot) },
      { title: 'Location', cell: ({ location }) => visible(location) },
      {
        title: 'Start delay',
        isNumber: true,
        cell: ({ startDelayMs }) => (startDelayMs === null ? '–' : duration(startDelayMs)),
      },
      {
        title: 'Response time',
        isNumber: true,
        cell: ({ responseTime }) => (responseTime === null ? '–' : duration(responseTime)),
      },
    ],
  });
}

function outcome(checkId: string, slot: Slot): Content {
  const isOnItsWay = slot.state === 'QUEUED' || slot.state === 'LEASED';
  const word = slot.verdict === null ? stateWords[slot.state] : verdictWords[slot.verdict];
  const badge = stateBadge(slotState({ verdict: slot.verdict, isOnItsWay }), word);
  if (slot.checkResultId !== null)
    return html`<a href="${path`/checks/${checkId}/runs/${slot.checkResultId}`}">${badge}</a>`;
  if (isOnItsWay) return badge;
  const several = slot.slotCount > 1 ? html` <b>${counted(slot.slotCount, 'run')}</b>` : '';
  return html`<a href="${withQuery(path`/checks/${checkId}/slots/${slot.id}`, { at: Date.parse(slot.scheduledAt) })}">${badge}</a>${several} <span class="soft small">${slot.explanation ?? reasonWords(slot.reason)}</span>`;
}

/** Shows a count of due runs as a link to their records, which add up to it. */
export function countLink(
  count: number,
  of: { readonly checkId: string; readonly from: string; readonly to: string },
  choice: SlotSelection = {},
): Content {
  if (count === 0) return countText(0);
  const { checkId, from, to } = of;
  return html`<a href="${withQuery(path`/checks/${checkId}/slots`, { from, to, ...choice })}">${countText(count)}</a>`;
}
