import { failureWords } from '@picket/checks/judging/failure-words.ts';
import { coarseDurationText } from '@picket/lib/figures/duration.ts';
import type { OverviewRow, RecentSlot } from '@picket/service/overviews/overview.ts';
import { bars } from '../elements/charts/bars.ts';
import { reasonWords, type SlotFacts, slotBar, slotHref, slotState } from '../elements/charts/slot-bar.ts';
import { sparkline } from '../elements/charts/sparkline.ts';
import { ago, counted, duration, percent, shortened } from '../elements/format.ts';
import { icon } from '../elements/icon.ts';
import { visible } from '../elements/text.ts';
import { type Content, type Html, html, path, withQuery } from '../html.ts';
import type { CheckFigures, Figures } from './figures.ts';
import { stateGlyph } from './glyph.ts';

const barsPerRow = 30;
/** The column may cut longer names. */
const longName = 20;
const sparkSize = { width: 56, height: 20 };

export interface ShownCheck {
  readonly row: OverviewRow;
  /** When it last stopped passing; null while it passes. */
  readonly since: number | null;
  readonly typeTitle: string;
  readonly typeIcon: string;
  readonly groupName: string | null;
  /** Oldest first. */
  readonly slots: readonly RecentSlot[];
  readonly figures: CheckFigures | undefined;
  /** Reasons why the check cannot run as configured. */
  readonly warnings: readonly string[];
}

export interface RowOptions {
  readonly now: number;
  /** Whether it has a checkbox, for the form of several checks. */
  readonly isSelectable: boolean;
}

/** In place of a figure that arrives with the next state of the page. */
const skeleton = html`<span class="skeleton"><span class="hidden">not calculated yet</span></span>`;

/** Shows one check as a row of the table. */
export function checkRow(check: ShownCheck, { now, isSelectable }: RowOptions): Html {
  const { row, typeTitle, groupName, figures } = check;
  const slots = check.slots.map(factsOf);
  const name = visible(shortened(row.name, 120));
  const about = [
    typeTitle,
    ...(groupName === null ? [] : [`group ${shortened(groupName, 40)}`]),
    ...(row.locations.length > 1 ? [counted(row.locations.length, 'location')] : []),
  ].join(' · ');
  return html`<tr class="check check-${row.state}" id="check-${row.id}">
${isSelectable ? html`<td class="check-pick"><input type="checkbox" form="bulk" name="check" value="${row.id}" aria-label="Select ${name}"></td>` : ''}<td class="check-state">${stateGlyph(row.state)}</td>
<th scope="row" class="check-name"><div class="check-what"><span class="check-type" title="${visible(about)}">${icon(check.typeIcon)}<span class="hidden">${visible(about)}</span></span><a class="check-link" href="${path`/checks/${row.id}`}"${row.name.length > longName ? html` title="${name}"` : ''}>${name}</a>${row.isMuted ? html`<span class="check-muted" title="Muted">${icon('bell-slash')}<span class="hidden">muted</span></span>` : ''}${cause(check, slots, now)}${
    row.tags.length === 0 ? '' : html`<span class="check-tags">${row.tags.slice(0, 4).map(tagChip)}</span>`
  }</div></th>
<td class="check-bars">${bars(spoken(slots), slots.map(slotBar), { slots: barsPerRow })}</td>
${figure('24 h', figures?.day)}${figure('7 d', figures?.week, ' check-week')}<td class="check-time number" data-label="p95">${
    figures === undefined
      ? skeleton
      : html`<b>${figures.day.p95Ms === null ? '–' : duration(figures.day.p95Ms)}</b>`
  }${sparkline(
    `Response time of the last ${slots.length} runs`,
    slots.map(({ responseTimeMs, verdict }) =>
      verdict === 'PASSED' || verdict === 'DEGRADED' ? responseTimeMs : null,
    ),
    sparkSize,
  )}</td><td class="check-last number" data-label="Last run">${row.lastSlotAt === null ? '–' : ago(row.lastSlotAt, now)}</td>
</tr>`;
}

function tagChip(tag: string): Html {
  return html`<a class="tag" href="${withQuery('/', { tag })}">${shortened(tag, 24)}</a>`;
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
  const since =
    began === null
      ? ''
      : html`<span class="check-since soft" title="For ${duration(now - began)}"><span class="hidden">for </span>${coarseDurationText(now - began)}</span>`;
  const whole = shown.verdict === 'DEGRADED' ? 'Slower than allowed' : failureWords(shown).sentence;
  return html`<p class="cause" title="${visible(shortened(whole, 400))}">${runCause(shown)}</p>${since}`;
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

/** Availability never appears without its coverage: in sight unless every due slot was measured. */
function figure(name: string, figures: Figures | undefined, className = ''): Html {
  const attributes = html`class="check-figure${className} number" data-label="${name}"`;
  if (figures === undefined) return html`<td ${attributes}>${skeleton}</td>`;
  const { availability, coverage } = figures;
  const isWhole = coverage === 1;
  return html`<td ${attributes}${isWhole ? html` title="All due runs were measured"` : ''}>${availability === null ? '–' : percent(availability)}${
    coverage === null
      ? ''
      : html`<span class="coverage${isWhole ? ' hidden' : coverage < 0.95 ? ' coverage-low' : ''}">${isWhole ? 'all measured' : `${percent(coverage)} measured`}</span>`
  }</td>`;
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
