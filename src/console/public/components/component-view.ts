import type { ComponentState, StatusPageData } from '@picket/protocol/pages/public-page.ts';
import { blindWords, isBlind } from '@picket/service/pages/measured-now.ts';
import { counted } from '../../elements/format.ts';
import { type State, stateBadge } from '../../elements/state.ts';
import { visible } from '../../elements/text.ts';
import { type Content, type Html, html } from '../../html.ts';
import { dayBars } from '../day-bars.ts';

type Component = StatusPageData['components'][number];
type Incident = StatusPageData['incidents'][number];

interface Standing {
  readonly state: State;
  readonly word: string;
}

const standings: Readonly<Record<Exclude<ComponentState, 'OPERATIONAL'>, Standing>> = {
  UNDER_MAINTENANCE: { state: 'degraded', word: 'Under maintenance' },
  DEGRADED_PERFORMANCE: { state: 'degraded', word: 'Degraded performance' },
  PARTIAL_OUTAGE: { state: 'failed', word: 'Partial outage' },
  MAJOR_OUTAGE: { state: 'failed', word: 'Major outage' },
};
const order = Object.keys(standings) as (keyof typeof standings)[];

/** Returns the word for an impact of an incident. */
export function impactWord(impact: keyof typeof standings): string {
  return standings[impact].word;
}

function standingOf(component: Component): Standing {
  return component.state === 'OPERATIONAL' ? operational(component) : standings[component.state];
}

/** Returns the state of a component without a known incident. */
export function operational(part: Pick<Component, 'measuredNow'>): Standing {
  if (!isBlind(part)) return { state: 'passed', word: 'Operational' };
  return { state: 'missed', word: part.measuredNow === 'NONE' ? 'Not measured' : 'Measured in part' };
}

/** Summarizes the state of all components of a page. An unmeasured component is not called operational. */
export function componentsHeadline(components: readonly Component[]): Standing {
  const own = components.filter(({ type }) => type === 'SERVICE');
  const all = own.length > 0 ? own : components;
  const hit = components.filter(({ state }) => state !== 'OPERATIONAL');
  const worst = order.findLast((impact) => hit.some(({ state }) => state === impact));
  if (worst !== undefined) {
    const count = all.filter(({ state }) => state !== 'OPERATIONAL').length;
    const of =
      all.length < 2 || count === 0 ? '' : `, ${count} of ${counted(all.length, 'component')} affected`;
    return { ...standings[worst], word: `${standings[worst].word}${of}` };
  }
  if (all.length === 0) return { state: 'missed', word: 'This page has no components yet' };
  if (!all.some(isBlind)) return { state: 'passed', word: 'All components operational' };
  const which = blindWords(all, (count) => counted(count, 'component'));
  return { state: 'missed', word: `No known incidents; ${which}` };
}

/** Returns the worst impact of an open incident on components of the page. */
export function incidentStanding({ components }: Incident): Standing | undefined {
  const worst = order.findLast((impact) => components.some((one) => one.impact === impact));
  return worst && standings[worst];
}

type Availability = (shown: Pick<Component, 'uptime' | 'uptimeSince' | 'coverage'>) => Content;

/** Shows the components of a page in order: each group as a separate card, the others together. */
export function componentCards(components: readonly Component[], availability: Availability): Content {
  const children = Map.groupBy(components, ({ parentId }) => parentId);
  const rowOf = (one: Component): Html => componentRow(one, children, availability);
  const runs: Component[][] = [];
  for (const one of children.get(null) ?? []) {
    const last = runs.at(-1);
    if (one.type === 'SERVICE' && last?.[0]?.type === 'SERVICE') last.push(one);
    else runs.push([one]);
  }
  return runs.map(
    (run) => html`<section class="card"><ul class="components">${run.map(rowOf)}</ul></section>`,
  );
}

function componentRow(
  component: Component,
  children: ReadonlyMap<string | null, readonly Component[]>,
  availability: Availability,
): Html {
  const { id, name, description, type, days, isExpanded, state } = component;
  const { state: sign, word } = standingOf(component);
  const line = html`<h3>${visible(name)}</h3>${stateBadge(sign, word)}`;
  const about = description === null ? '' : html`<p class="small soft">${visible(description)}</p>`;
  const history =
    days.length === 0
      ? ''
      : html`${dayBars(`${visible(name)}, ${days.length} days`, component)}
<p class="axis small soft"><span>${days.length} days ago</span><span>${availability(component)}</span><span>Today</span></p>`;
  if (type === 'SERVICE') {
    return html`<li class="service"><div class="card-line">${line}</div>${about}${history}</li>`;
  }
  const own = children.get(id) ?? [];
  const isOpen = isExpanded || state !== 'OPERATIONAL';
  return html`<li class="service"><details class="component-group"${isOpen ? html` open` : ''}><summary><span class="card-line">${line}</span></summary>${about}${history}${
    own.length === 0
      ? html`<p class="soft small">No components.</p>`
      : html`<ul class="components">${own.map((one) => componentRow(one, children, availability))}</ul>`
  }</details></li>`;
}
