import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { shareOfPercent } from '@picket/lib/figures/share.ts';
import { type AnalyticsAnswer, typedAnalyticsRoute } from '@picket/protocol/results/analytics.ts';
import { type Coverage, measuredShare } from '@picket/protocol/runs/coverage.ts';
import { type ChartBucket, type ChartMark, timeChart } from '../elements/charts/time-chart.ts';
import type { Phase } from '../elements/charts/waterfall.ts';
import { countText, duration, percent } from '../elements/format.ts';
import { table } from '../elements/table.ts';
import { section, visible } from '../elements/text.ts';
import { type Content, type Html, html, path, withQuery } from '../html.ts';
import type { PageCall } from '../page.ts';
import { type Range, rangeQuery } from './range.ts';

const buckets = 72;
const minuteMs = 60_000;

/** Consecutive phases that add up to the response time, by their names in check types. */
const stacked: Readonly<Record<string, readonly [name: string, kind: Phase['kind']]>> = {
  wait: ['Waiting for a connection', 'wait'],
  dns: ['Name (DNS)', 'dns'],
  tcp: ['Connection', 'tcp'],
  connection: ['Connection', 'tcp'],
  tls: ['Encryption', 'tls'],
  firstByte: ['First byte', 'first-byte'],
  data: ['Data', 'download'],
  download: ['Download', 'download'],
};

type Row = Readonly<Record<string, number | string | null>>;

/** Shows the figures of a check over a range, with their trend over time and by location. */
export async function numberSections(
  call: PageCall,
  {
    checkId,
    type,
    range,
    marks,
  }: {
    readonly checkId: string;
    readonly type: CheckType;
    readonly range: Range;
    /** Queried concurrently. */
    readonly marks: Promise<readonly ChartMark[]>;
  },
): Promise<{ summary: Html; sections: Content[] }> {
  const names = type.analytics.metrics.filter(({ isPerItem }) => !isPerItem).map(({ name }) => name);
  const main = names.includes('responseTime')
    ? 'responseTime'
    : names.find((name) => /latency|rtt/i.test(name));
  const window = { from: new Date(range.from).toISOString(), to: new Date(range.to).toISOString() };
  const route = typedAnalyticsRoute(type);
  const ask = async (metrics: readonly string[], options: Record<string, string> = {}) =>
    call.api.call(route, {
      params: { id: checkId },
      query: { ...window, metrics: metrics.join(','), limit: 100, ...options } as never,
    });
  const time = main === undefined ? [] : [`${main}_p50`, `${main}_p95`, `${main}_p99`];
  const isEvents = type.analytics.states !== undefined;
  const phases = names.filter((name) => name in stacked);
  const intervalMinutes = Math.max(1, Math.ceil((range.to - range.from) / buckets / minuteMs));
  const [whole, trend, places] = await Promise.all([
    ask(['availability', ...time]),
    main === undefined || isEvents
      ? undefined
      : ask([...time, ...phases.map((name) => `${name}_avg`)], {
          aggregationInterval: String(intervalMinutes),
        }),
    isEvents ? undefined : ask(['availability', ...time], { groupBy: 'runLocation' }),
  ]);
  const row: Row = whole.series[0]?.data[0] ?? {};
  const summary = html`<dl class="numbers">${[
    number('Available', percentText(row['availability']), coverageWords(whole.coverage)),
    ...time.map((key) => number(key.split('_')[1] ?? key, timeOf(row[key]))),
  ]}</dl>`;
  const chart =
    trend === undefined || main === undefined
      ? ''
      : chartSection(trend.series[0]?.data ?? [], {
          time,
          phases,
          range,
          checkId,
          marks: await marks,
          intervalMs: intervalMinutes * minuteMs,
        });
  return { summary, sections: [chart, places === undefined ? '' : placeSection(places, time)] };
}

function number(name: string, value: string, note = ''): Html {
  return html`<div><dt>${name}</dt><dd>${value}${note === '' ? '' : html`<span class="small soft">${note}</span>`}</dd></div>`;
}

function timeOf(value: unknown): string {
  return typeof value === 'number' ? duration(value) : '–';
}

function chartSection(
  rows: readonly Row[],
  options: {
    readonly time: readonly string[];
    readonly phases: readonly string[];
    readonly range: Range;
    readonly checkId: string;
    readonly intervalMs: number;
    readonly marks: readonly ChartMark[];
  },
): Content {
  const { time, phases, range, checkId, intervalMs, marks } = options;
  const first = Math.floor(range.from / intervalMs) * intervalMs;
  const byStart = new Map(
    rows.map((row) => [Math.floor(Date.parse(String(row['timestamp'])) / intervalMs) * intervalMs, row]),
  );
  const list: ChartBucket[] = [];
  for (let from = first; from < range.to; from += intervalMs) {
    const row = byStart.get(from) ?? {};
    const to = from + intervalMs;
    list.push({
      from,
      to,
      linesMs: time.map((key) => (typeof row[key] === 'number' ? row[key] : null)),
      parts: phases.flatMap((name) => {
        const ms = row[`${name}_avg`];
        const [word, kind] = stacked[name] ?? [name, 'other' as const];
        return typeof ms === 'number' && ms > 0 ? [{ name: word, kind, ms }] : [];
      }),
      href: withQuery(
        path`/checks/${checkId}`,
        rangeQuery({ name: null, from, to: Math.max(to, from + 10 * minuteMs) }),
      ),
    });
  }
  if (list.every(({ linesMs }) => linesMs.every((ms) => ms === null))) return '';
  const lines = time.map((key) => key.split('_')[1] ?? key);
  const used = phases.filter((name) =>
    list.some(({ parts }) => parts.some((part) => part.name === stacked[name]?.[0])),
  );
  return section(
    'Response time',
    html`${timeChart({
      label: 'Response time over the range: p50, p95 and p99, and the phases of the average run',
      from: range.from,
      to: range.to,
      buckets: list,
      lines,
      marks,
      zoomHref: path`/checks/${checkId}`,
    })}<ul class="legend">${lines.map(
      (name) =>
        html`<li><svg class="swatch" viewBox="0 0 10 10" width="10" height="10" aria-hidden="true"><path class="chart-line line-${name}" d="M0 5h10"/></svg>${name}</li>`,
    )}${markLegend(marks)}${used.map(
      (name) =>
        html`<li><svg class="swatch" viewBox="0 0 10 10" width="10" height="10" aria-hidden="true"><rect class="phase-${stacked[name]?.[1] ?? 'other'}" width="10" height="10" rx="2"/></svg>${stacked[name]?.[0] ?? name}</li>`,
    )}</ul><p class="hint">Drag to zoom. Keyboard: focus the chart, use the arrow keys (with Shift for the other end), press Enter.</p>`,
    'response-time',
  );
}

const markWords: Readonly<Record<ChartMark['kind'], string>> = {
  alert: 'Alert',
  recovery: 'Recovery',
  incident: 'Incident',
};

function markLegend(marks: readonly ChartMark[]): Content {
  const kinds = [...new Set(marks.map(({ kind }) => kind))];
  return kinds.map(
    (kind) =>
      html`<li><svg class="swatch" viewBox="0 0 10 10" width="10" height="10" aria-hidden="true"><rect class="mark-${kind}" width="10" height="10" rx="2"/></svg>${markWords[kind]}</li>`,
  );
}

/** Describes the measured share of the due slots, and reasons for the rest. */
function coverageWords(coverage: Coverage): string {
  const { due, open, missed, errors, maintenance } = coverage;
  const measured = measuredShare(coverage);
  if (measured === null) return '';
  const runs = countText(due - open);
  if (measured === 1) return `all ${runs} runs measured`;
  const reasons = [
    ...Object.entries(missed).map(
      ([reason, count]) => `${countText(count)} missed: ${reason.replaceAll('-', ' ')}`,
    ),
    ...(errors > 0 ? [`${countText(errors)} not judged`] : []),
    ...(maintenance > 0 ? [`${countText(maintenance)} in maintenance`] : []),
  ];
  return `${percent(measured)} of ${runs} runs measured (${reasons.join(', ')})`;
}

function percentText(value: unknown): string {
  return typeof value === 'number' ? percent(shareOfPercent(value)) : '–';
}

function placeSection(
  { series, coverageByLocation }: Pick<AnalyticsAnswer, 'series' | 'coverageByLocation'>,
  time: readonly string[],
): Content {
  if (series.length < 2) return '';
  const rows = series.map((one) => {
    const [row = {}] = one.data as Row[];
    return { place: String(one['runLocation']), row };
  });
  type Place = (typeof rows)[number];
  return section(
    'By location',
    table<Place>({
      caption: 'Availability and response time by location',
      rows,
      empty: '',
      columns: [
        { title: 'Location', cell: ({ place }) => visible(place) },
        { title: 'Available', isNumber: true, cell: ({ row }) => percentText(row['availability']) },
        {
          title: 'Measured',
          isNumber: true,
          cell: ({ place }) => percentText(coverageByLocation[place]?.percent),
        },
        ...time.map((key) => ({
          title: key.split('_')[1] ?? key,
          isNumber: true,
          cell: ({ row }: Place) => timeOf(row[key]),
        })),
      ],
    }),
  );
}
