import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { checkRoutes } from '@picket/protocol/checks/check.ts';
import type { StandingCheck } from '@picket/service/checks/state/states.ts';
import type { OverviewRow } from '@picket/service/overviews/overview.ts';
import { ago, duration, instant, shortened } from '../elements/format.ts';
import { menu } from '../elements/menu.ts';
import { stateBadge } from '../elements/state.ts';
import { visible } from '../elements/text.ts';
import { actionButton, confirmed } from '../forms/action.ts';
import { type Content, type Html, html, path, withQuery } from '../html.ts';
import { factsOf, runCause } from '../overview/row.ts';
import { sinceOf } from '../overview/since.ts';
import type { PageAnswer, PageCall } from '../page.ts';
import { runAgainForm } from '../run/parts.ts';

/** The same number as in a row of the overview. */
const recentSlots = 30;

export interface HeaderFacts {
  readonly name: string;
  readonly type: CheckType;
  readonly row: OverviewRow;
  readonly standing: StandingCheck | undefined;
  readonly isOn: boolean;
  /** From one slot to the next; 0 without a schedule. */
  readonly frequencyMs: number;
  /** Whether that is of a schedule, so only the longest distance. */
  readonly hasSchedule: boolean;
  readonly now: number;
}

/** Name, state and cause of a check, and everything that can be done with it. */
export function header(call: PageCall, facts: HeaderFacts, why: Content): Html {
  const { name, type, row, standing, frequencyMs, hasSchedule, now } = facts;
  const since = sinceOf(row);
  return html`<p class="crumbs"><a href="/">Overview</a></p>
<div class="heading"><h1>${visible(shortened(name, 300))}</h1><div class="actions">${type.pings ? '' : runAgainForm(call, row.id)}${actionMenu(call, facts)}</div></div>
<p class="check-line">${stateBadge(row.state)} ${since === null || row.state === 'passed' ? '' : html`<span>for ${duration(now - since)}, since ${instant(since)}</span>`} <span class="soft">${type.title}${hasSchedule ? ' · on a schedule' : frequencyMs > 0 ? ` · every ${duration(frequencyMs)}` : ''}${row.locations.length > 0 ? html` · ${visible(shortened(row.locations.join(', '), 120))}` : ''}${row.lastSlotAt === null ? '' : html` · last run ${ago(row.lastSlotAt, now)}`}${row.isMuted ? ' · muted' : ''}</span></p>
${why}${notMeasuredNotice(standing)}`;
}

function actionMenu({ api, viewer }: PageCall, { name, row, isOn }: HeaderFacts): Content {
  if (!api.allows(checkRoutes.updateCheck)) return '';
  const here = path`/checks/${row.id}`;
  const about = visible(shortened(name, 80));
  const field = (key: string, value: boolean) =>
    html`<input type="hidden" name="${key}" value="${String(value)}">`;
  return menu({
    label: `Actions: ${about}`,
    items: [
      html`<a class="button" href="${here}/edit">Edit</a>`,
      actionButton({
        ...{ to: `${here}/activated`, viewer, fields: field('activated', !isOn) },
        word: isOn ? 'Pause' : 'Resume',
      }),
      actionButton({
        ...{ to: `${here}/muted`, viewer, fields: field('muted', !row.isMuted) },
        word: row.isMuted ? 'Unmute' : 'Mute alerts',
      }),
      html`<a class="button" href="${withQuery('/checks/new', { from: row.id })}">Clone</a>`,
      confirmed({
        to: `${here}/delete`,
        word: 'Delete…',
        confirmWord: 'Delete the check',
        question: 'Its results, alerts and history are deleted, too. This cannot be undone.',
        viewer,
      }),
    ],
  });
}

/** Mutes the alerts of a check, or lets them through again. */
export async function muteCheck({ api, params, form }: PageCall): Promise<PageAnswer> {
  const { checkId = '' } = params;
  const muted = form.get('muted') === 'true';
  await api.call(checkRoutes.updateCheck, { params: { id: checkId }, body: { muted } });
  return { goTo: path`/checks/${checkId}`, toast: muted ? 'Muted: it sends no alerts.' : 'Unmuted.' };
}

/** Shows why the newest run that did not pass failed, in the words of the overview. */
export async function whyNotWell({ store, clock }: PageCall, { id, state }: OverviewRow): Promise<Content> {
  if (state !== 'failed' && state !== 'error') return '';
  const slots = (await store.overviews.recentSlots([id], recentSlots, clock.wallMs())).get(id) ?? [];
  const bad = slots.find((slot) => slot.has_failures === 1 || slot.has_errors === 1);
  return bad ? html`<p class="cause">${runCause(factsOf(bad))}</p>` : '';
}

/** The other locations determine the state of the check. */
function notMeasuredNotice(standing: StandingCheck | undefined): Content {
  if (!standing || standing.state === 'not-measured' || standing.notMeasuredAt.length === 0) return '';
  return html`<p class="notice">Not measured at ${visible(shortened(standing.notMeasuredAt.join(', '), 200))}.</p>`;
}
