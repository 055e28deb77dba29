import { failureWords } from '@picket/checks/judging/failure-words.ts';
import type { OverviewRow, RecentSlot } from '@picket/service/overviews/store.ts';
import { bars } from '../elements/charts/bars.ts';
import { reasonWords, type SlotFacts, slotBar, slotHref, slotState } from '../elements/charts/slot-bar.ts';
import { sparkline } from '../elements/charts/sparkline.ts';
import { ago, counted, duration, percent, shortened } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { visible } from '../elements/text.ts';
import { type Content, type Html, html, path, withQuery } from '../html.ts';
import type { CheckFigures, Figures } from './figures.ts';

const barsPerRow = 30;

export interface ShownCheck {
  readonly row: OverviewRow;
  /** When it last stopped passing; null while it passes. */
  readonly since: number | null;
  readonly typeTitle: string;
  readonly groupName: string | null;
  /** Oldest first. */
  readonly slots: readonly RecentSlot[];
  readonly figures: CheckFigures | undefined;
  /** Reasons why the check cannot run as configured. */
  readonly warnings: readonly string[];
}

/** Shows one check in the overview. */
export function checkRow(check: ShownCheck, now: number): Html {
  const { row, typeTitle, groupName, figures } = check;
  const slots = check.slots.map(factsOf);
  return html`<li class="check check-${row.state}" id="check-${row.id}">
<div class="check-state">${stateBadge(row.state)}${row.isMuted ? html`<span class="small soft">muted</span>` : ''}</div>
<div class="check-name"><h2><a href="${path`/checks/${row.id}`}">${visible(shortened(row.name, 120))}</a></h2>
${cause(check, slots, now)}
<p class="small soft">${typeTitle}${groupName === null ? '' : html` · ${shortened(groupName, 40)}`}${
    row.locations.length > 1 ? html` · ${counted(row.locations.length, 'location')}` : ''
  }${row.tags.slice(0, 4).map((tag) => html` <a class="tag" href="${withQuery('/', { tag })}">${shortened(tag, 24)}</a>`)}${
    row.lastSlotAt === null ? '' : html` · ${ago(row.lastSlotAt, now)}`
  }</p></div>
<div class="check-bars">${bars(spoken(slots), slots.map(slotBar), { slots: barsPerRow })}</div>
<dl class="check-figures">${figure('24 h', figures?.day)}${figure('7 d', figures?.week)}</dl>
<div class="check-time"><span class="small soft">p95</span> <b>${figures?.day.p95Ms === null || figures === undefined ? '–' : duration(figures.day.p95Ms)}</b>
${sparkline(
  `Response time of the last ${slots.length} runs`,
  slots.map(({ responseTimeMs, verdict }) =>
    verdict === 'PASSED' || verdict === 'DEGRADED' ? responseTimeMs : null,
  ),
)}</div>
</li>`;
}

/** Shows the cause of a problem, with a link to the run. */
function cause(
  { row, since: began, warnings }: ShownCheck,
  slots: readonly SlotFacts[],
  now: number,
): Content {
  const newest = slots.findLast((slot) => slotState(slot) !== 'waiting');
  const [warning] = warnings;
  if (row.state === 'off') return '';
  if (row.state === 'waiting' || row.state === 'missed') {
    const isLate = newest !== undefined && newest.verdict !== null;
    const words =
      warning ??
      (isLate ? 'No run since then has finished' : newest ? reasonWords(newest.reason) : undefined);
    const href = newest && slotHref(newest);
    if (words === undefined) return '';
    return html`<p class="cause">${href ? html`<a href="${href}">${words}</a>` : words}</p>`;
  }
  if (row.state === 'passed') return warning ? html`<p class="cause">${warning}</p>` : '';
  const shown = slots.findLast(({ verdict }) => verdict !== null && verdict !== 'PASSED');
  if (!shown) return '';
  const since = began === null ? '' : html` <span class="soft">for ${duration(now - began)}</span>`;
  return html`<p class="cause">${runCause(shown)}${since}</p>`;
}

/** Shows why a run did not pass and what failed, with a link to it. */
export function runCause(slot: SlotFacts): Html {
  const href = slotHref(slot) ?? '#';
  if (slot.verdict === 'DEGRADED')
    return html`<a href="${href}">Took ${duration(slot.responseTimeMs ?? 0)}</a>`;
  const { sentence, whatFailed } = failureWords(slot);
  return html`<a href="${href}">${visible(shortened(sentence, 160))}</a>${
    slot.code === null ? '' : html` <span class="soft">(${whatFailed})</span>`
  }`;
}

function figure(name: string, figures: Figures | undefined): Html {
  const { availability = null, coverage = null } = figures ?? {};
  return html`<div><dt>${name}</dt><dd>${availability === null ? '–' : percent(availability)}${
    coverage === null
      ? ''
      : html`<span class="coverage${coverage < 0.95 ? ' coverage-low' : ''}">${coverage === 1 ? 'all measured' : `${percent(coverage)} measured`}</span>`
  }</dd></div>`;
}

function spoken(slots: readonly SlotFacts[]): string {
  const counts = Map.groupBy(slots, slotState);
  const words = {
    passed: 'passed',
    degraded: 'degraded',
    failed: 'failed',
    error: 'not judged',
    missed: 'not measured',
    waiting: 'in progress',
    off: '',
  };
  const parts = [...counts].map(([state, list]) => `${list.length} ${words[state]}`);
  return slots.length === 0 ? 'No runs yet' : `Last ${counted(slots.length, 'run')}: ${parts.join(', ')}`;
}

/** Returns the facts of a slot from its database row. */
export function factsOf(slot: RecentSlot): SlotFacts {
  return {
    id: slot.id,
    checkId: slot.check_id,
    at: slot.slot_at,
    location: slot.slot_location,
    count: slot.slot_count,
    isOnItsWay: slot.state === 'queued' || slot.state === 'leased',
    reason: slot.reason,
    resultId: slot.result_id,
    verdict: verdictOf(slot),
    responseTimeMs: slot.response_time,
    message: slot.message,
    code: slot.code,
    owner: slot.owner,
    isOnDemand: slot.isOnDemand,
  };
}

function verdictOf(slot: RecentSlot): SlotFacts['verdict'] {
  if (slot.result_id === null) return null;
  if (slot.has_errors === 1) return 'ERROR';
  if (slot.has_failures === 1) return 'FAILED';
  return slot.is_degraded === 1 ? 'DEGRADED' : 'PASSED';
}
