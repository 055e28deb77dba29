import { type Gap, type Lane, laneChart } from '../elements/charts/lanes.ts';
import { type ChartMark, markSwatch, marksLane } from '../elements/charts/marks-lane.ts';
import { type RunBar, runsLane } from '../elements/charts/runs-lane.ts';
import { isLate } from '../elements/charts/slot-bar.ts';
import { countText, shortened } from '../elements/format.ts';
import { type State, states } from '../elements/state.ts';
import { section, visible } from '../elements/text.ts';
import { type Content, type Html, html, path, withQuery } from '../html.ts';
import type { Events } from './events.ts';
import { type Selection, viewQuery, zoomHref } from './range.ts';
import { type Counts, gapsOfCoverage, gapsOfSlots, type Strip, slotStrip, trendStrip } from './run-bars.ts';
import type { Runs } from './runs.ts';
import type { CheckSeries } from './series.ts';
import { timesOf } from './times.ts';

/** More lanes of locations would push the events off the screen: the others share one. */
const mostStrips = 8;

export interface ChartData {
  readonly selection: Selection;
  readonly series: CheckSeries;
  readonly runs: Runs;
  readonly events: Events;
  /** Distance of two slots of a location. */
  readonly strideMs: number;
  /** Whether the check runs at several locations. */
  readonly hasPlaces: boolean;
}

/** Times, runs by location, events and gaps on one axis of time. */
export async function chartSection(data: ChartData): Promise<Html> {
  const { selection, series, runs, events } = data;
  const { range } = selection;
  const [times, { strips, gaps }] = await Promise.all([
    timesOf(selection, series, data.hasPlaces),
    stripsOf(data),
  ]);
  const { isEvents } = series.metrics;
  const noun = isEvents ? 'Pings' : 'Runs';
  const isNamed = strips.size > 1 || selection.location !== null;
  const lanes: Lane[] = [
    ...(times.lane ? [times.lane] : []),
    ...[...strips].map(([location, { bars }]) =>
      runsLane(isNamed ? visible(shortened(location, 40)) : noun, bars, range),
    ),
    ...events.lanes.map(({ name, marks }) => marksLane(name, marks, range)),
  ];
  if (strips.size === 0 && lanes.length === 0) {
    const empty = isEvents ? 'No pings in this range.' : 'No runs were due in this range.';
    return section(noun, html`<p class="empty">${empty}</p>`, 'runs');
  }
  const chart = laneChart({
    ...{ from: range.from, to: range.to, lanes, gaps },
    label: 'Times, runs and events of the check on one time axis',
    zoomHref: withQuery(path`/checks/${selection.checkId}`, viewQuery(selection)),
  });
  return section(
    times.title,
    html`${times.controls}${chart}<ul class="legend">${times.legend}${runLegend([...strips.values()], runs)}${markLegend(events)}${
      gaps.length === 0 ? '' : html`<li>${swatch('gap')}Gap: no run was measured</li>`
    }</ul><p class="hint chart-keys">Drag to zoom. Keyboard: focus the chart, move the cursor with the arrow keys, select with Shift, press Enter to zoom or to open the run.</p>`,
    'runs',
  );
}

/** The runs of each shown location, and the gaps of all of them. */
async function stripsOf(
  data: ChartData,
): Promise<{ readonly strips: ReadonlyMap<string, Strip>; readonly gaps: readonly Gap[] }> {
  const { selection, series, runs, strideMs } = data;
  const { range, location } = selection;
  const isShown = (name: string) => location === null || name === location;
  const zoom = (from: number, to: number) => zoomHref(selection, from, to);
  const asked = runs.asked.filter((run) => isShown(run.location));
  if (runs.slots) {
    const slots = runs.slots.filter((slot) => isShown(slot.location));
    const all = [...slots, ...asked].sort((left, right) => left.at - right.at);
    const options = { strideMs, zoom };
    const places = fewer(
      Map.groupBy(all, (slot) => slot.location),
      (lists) => lists.flat().sort((left, right) => left.at - right.at),
    );
    const strips = new Map(
      [...places].map(([place, list]) => [place, slotStrip(list, range, options)] as const),
    );
    return { strips, gaps: gapsOfSlots(slots, range, strideMs) };
  }
  const trends = series.metrics.isEvents
    ? [['', await series.trend()] as const]
    : [...(await series.trends())].filter(([name]) => isShown(name));
  const strips = new Map(trends.map(([name, trend]) => [name, trendStrip(trend, zoom)] as const));
  const shown = fewer(strips, (others) => ({
    bars: others.flatMap(({ bars }) => bars).sort((left, right) => rank(right) - rank(left)),
    counts: sumOf(others.map(({ counts }) => counts)),
  }));
  const [only] = trends;
  const { coverage, intervalMs } = trends.length === 1 && only ? only[1] : await series.trend();
  const onDemand =
    asked.length === 0 ? [] : [['On demand', slotStrip(asked, range, { strideMs: 0, zoom })] as const];
  return { strips: new Map([...shown, ...onDemand]), gaps: gapsOfCoverage(coverage, intervalMs) };
}

/** Bars of several locations lie upon each other: the worst is drawn last. */
function rank({ state }: RunBar): number {
  return (['failed', 'error', 'degraded', 'passed', 'missed'] as State[]).indexOf(state);
}

/** Sorts lanes by name; those beyond the limit become one. */
function fewer<One>(lanes: ReadonlyMap<string, One>, join: (others: One[]) => One): Map<string, One> {
  const sorted = [...lanes].sort(([left], [right]) => (left < right ? -1 : 1));
  if (sorted.length <= mostStrips) return new Map(sorted);
  const others = sorted.slice(mostStrips - 1).map(([, one]) => one);
  return new Map([...sorted.slice(0, mostStrips - 1), [`${others.length} others`, join(others)]]);
}

function sumOf(all: readonly Counts[]): Counts {
  const sum = new Map<State, number>();
  for (const counts of all) {
    for (const [state, count] of counts) sum.set(state, (sum.get(state) ?? 0) + count);
  }
  return sum;
}

function swatch(className: string): Html {
  return html`<svg class="swatch" viewBox="0 0 10 10" width="10" height="10" aria-hidden="true"><rect class="${className}" width="10" height="10" rx="2"/></svg>`;
}

const legendWords: Partial<Record<State, string>> = {
  passed: 'Passed',
  failed: 'Failed',
  waiting: 'In progress',
};

function runLegend(strips: readonly Strip[], { slots, asked }: Runs): Content {
  const counts = sumOf(strips.map((strip) => strip.counts));
  const late = (slots ?? []).filter(isLate).length;
  return [
    ...[...counts].map(
      ([state, count]) =>
        html`<li>${swatch(`bar-${state}`)}${legendWords[state] ?? states[state].word} ${countText(count)}</li>`,
    ),
    late === 0 ? '' : html`<li>${swatch('bar-late')}Started over 10 s late ${countText(late)}</li>`,
    asked.length === 0
      ? ''
      : html`<li><svg class="swatch" viewBox="0 0 10 10" width="10" height="10" aria-hidden="true"><path class="bar-asked" d="M0 0h10l-5 8z"/></svg>On demand ${countText(asked.length)}, not counted in availability</li>`,
    slots === null
      ? html`<li>Each column combines the runs of its interval and shows the worst. Degraded runs count as passed here.</li>`
      : '',
  ];
}

const markWords: Readonly<Record<ChartMark['kind'], string>> = {
  alert: 'Alert',
  recovery: 'Recovery',
  incident: 'Incident',
  change: 'Change of the check',
  deployment: 'Deployment of its project',
  maintenance: 'Maintenance',
};

function markLegend({ lanes }: Events): Content {
  const kinds = [...new Set(lanes.flatMap(({ marks }) => marks.map(({ kind }) => kind)))];
  return kinds.map((kind) => html`<li>${markSwatch(kind)}${markWords[kind]}</li>`);
}
