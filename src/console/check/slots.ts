import { type Slot, slotRoutes } from '@picket/protocol/runs/slot.ts';
import { type Bar, bars } from '../elements/charts/bars.ts';
import { type SlotFacts, slotBar, slotState } from '../elements/charts/slot-bar.ts';
import { counted, countText, utc } from '../elements/format.ts';
import { states } from '../elements/state.ts';
import { section, visible } from '../elements/text.ts';
import { type Content, type Html, html } from '../html.ts';
import { factsOf as storedFacts } from '../overview/row.ts';
import type { PageCall } from '../page.ts';
import type { Range } from './range.ts';

const pageLimit = 1_000;
/** More bars would be unreadable and slow to load. */
const mostSlots = 2_000;
const barsPerLine = 150;

/** Returns the slots of a check in a range, newest first, up to the display limit. */
export async function slotsIn(
  { api, store }: PageCall,
  checkId: string,
  { from, to }: Range,
): Promise<{ slots: SlotFacts[]; areMore: boolean }> {
  const slots: SlotFacts[] = [];
  let nextId: string | undefined;
  do {
    const page = await api.call(slotRoutes.listCheckSlots, {
      params: { id: checkId },
      query: { from: String(from), to: String(to), limit: pageLimit, ...(nextId ? { nextId } : {}) },
    });
    slots.push(...page.entries.map((slot) => factsOf(checkId, slot)));
    nextId = page.nextId ?? undefined;
  } while (nextId !== undefined && slots.length < mostSlots);
  const areMore = nextId !== undefined;
  const first = areMore ? (slots.at(-1)?.at ?? from) : from;
  const asked = await store.overviews.onDemandIn(checkId, { from: first, to });
  if (asked.length > 0) {
    slots.push(...asked.map(storedFacts));
    slots.sort((left, right) => right.at - left.at);
  }
  return { slots, areMore };
}

/** Shows every slot of the range as one bar, with one strip per location. */
export function slotSection({ slots, areMore }: { slots: readonly SlotFacts[]; areMore: boolean }): Content {
  if (slots.length === 0)
    return section('Every run', html`<p class="empty">No runs were due in this range.</p>`, 'runs');
  const places = [...Map.groupBy(slots, ({ location }) => location)].sort(([left], [right]) =>
    left < right ? -1 : 1,
  );
  return section(
    'Every run',
    html`${places.map(
      ([place, list]) =>
        html`<div class="strip">${places.length > 1 ? html`<h3>${visible(place)}</h3>` : ''}${lines(list.toReversed())}</div>`,
    )}${legend(slots)}${
      areMore
        ? html`<p class="hint">The newest ${counted(slots.length, 'run')} runs. Choose a shorter range to see others.</p>`
        : ''
    }`,
    'runs',
  );
}

/** Splits bars into lines, oldest first, each with its start time. */
function lines(slots: readonly SlotFacts[]): Html[] {
  const list: Html[] = [];
  for (let start = 0; start < slots.length; start += barsPerLine) {
    const line = slots.slice(start, start + barsPerLine);
    const all: Bar[] = line.map(slotBar);
    const at = new Date(line[0]?.at ?? 0).toISOString();
    list.push(
      html`<div class="strip-line"><time class="small soft" datetime="${at}" title="${utc(at)}" data-short>${at.slice(5, 16).replace('T', ' ')}</time>${bars(
        `${counted(line.length, 'run')} from ${utc(at)} on`,
        all,
        { slots: barsPerLine, isFromLeft: true },
      )}</div>`,
    );
  }
  return list;
}

function legend(slots: readonly SlotFacts[]): Html {
  const counts = Map.groupBy(slots, slotState);
  const asked = slots.filter(({ isOnDemand }) => isOnDemand).length;
  return html`<ul class="legend">${[...counts].map(
    ([state, list]) =>
      html`<li><svg class="swatch" viewBox="0 0 10 10" width="10" height="10" aria-hidden="true"><rect class="bar-${state}" width="10" height="10" rx="2"/></svg>${legendWord(state)} ${countText(list.length)}</li>`,
  )}${asked === 0 ? '' : html`<li><svg class="swatch" viewBox="0 0 10 10" width="10" height="10" aria-hidden="true"><path class="bar-asked" d="M0 0h10l-5 8z"/></svg>On demand ${countText(asked)}, not counted in availability</li>`}</ul>`;
}

function legendWord(state: keyof typeof states): string {
  const words: Partial<Record<keyof typeof states, string>> = {
    passed: 'Passed',
    failed: 'Failed',
    waiting: 'In progress',
  };
  return words[state] ?? states[state].word;
}

function factsOf(checkId: string, slot: Slot): SlotFacts {
  return {
    id: slot.id,
    checkId,
    at: Date.parse(slot.scheduledAt),
    location: slot.location,
    count: slot.slotCount,
    isOnItsWay: slot.state === 'QUEUED' || slot.state === 'LEASED',
    reason: slot.reason,
    resultId: slot.checkResultId,
    verdict: slot.verdict,
    responseTimeMs: slot.responseTime,
    message: null,
    code: null,
    owner: null,
    isOnDemand: false,
  };
}
