import { lanes } from '@picket/checks/contract/check-type.ts';
import type { LocationEvent } from '@picket/protocol/locations/location-event.ts';
import type { QueueState } from '@picket/service/locations/minute-store.ts';
import type { LocationMinuteRow } from '@picket/service/locations/tables.ts';
import { type ChartBucket, type ChartMark, timeChart } from '../elements/charts/time-chart.ts';
import { counted, countText, duration, instant } from '../elements/format.ts';
import { facts, table } from '../elements/table.ts';
import { type Html, html } from '../html.ts';
import { kindWords } from './health.ts';

const laneWords: Readonly<Record<(typeof lanes)[number], string>> = {
  probe: 'Probes (URL, API, DNS, domain, TCP, UDP, SQL, SSL, gRPC, WebSocket, ICMP, traceroute, NTP)',
  script: 'Scripts (browser, multi-step, suites)',
};

const minuteMs = 60_000;
/** A point covers 20 minutes, so that a day has 72 of them. */
const bucketMs = 20 * minuteMs;
export const chartMs = 86_400_000;

/** Shows the backlog of a location by lane, and its course over the past day. */
export function queueSection(
  queues: readonly QueueState[],
  {
    minutes,
    events,
    now,
  }: {
    readonly minutes: readonly LocationMinuteRow[];
    readonly events: readonly LocationEvent[];
    readonly now: number;
  },
): Html {
  const byLane = new Map(queues.map((queue) => [queue.lane, queue]));
  return html`<section><h2>Queue</h2>${facts([
    ...lanes.map((lane) => {
      const { queued = 0, inFlight = 0, waitingSince = null } = byLane.get(lane) ?? {};
      const age = waitingSince === null ? '' : `, the oldest for ${duration(now - waitingSince)}`;
      return [laneWords[lane], `${countText(queued)} waiting${age}; ${countText(inFlight)} running`] as const;
    }),
  ])}${minutes.length < 2 ? '' : queueChart(minutes, events, now)}</section>`;
}

/** Chart of the longest wait of a run, with the times at which agents found the location unhealthy. */
function queueChart(
  minutes: readonly LocationMinuteRow[],
  events: readonly LocationEvent[],
  now: number,
): Html {
  const first = Math.ceil((now - chartMs) / bucketMs) * bucketMs;
  const inBuckets = Map.groupBy(minutes, ({ minute }) => Math.floor(minute / bucketMs) * bucketMs);
  const buckets: ChartBucket[] = [];
  for (let from = first; from < now; from += bucketMs) {
    const known = inBuckets.get(from);
    const longest = known ? Math.max(...known.map(({ oldest_age }) => oldest_age)) * 1_000 : null;
    buckets.push({ from, to: from + bucketMs, parts: [], linesMs: [longest], href: null });
  }
  const marks = events.flatMap(({ kind, startedAt, endedAt }): ChartMark[] => {
    const [from, to] = [Date.parse(startedAt), endedAt === null ? now : Date.parse(endedAt)];
    return to < first ? [] : [{ kind: 'incident', from, to, title: kindWords(kind), href: null }];
  });
  const most = Math.max(...minutes.map(({ queue_size }) => queue_size));
  if (buckets.every(({ linesMs }) => (linesMs[0] ?? 0) === 0)) {
    return html`<p class="after">No run waited in the last 24 hours.</p>`;
  }
  return html`<h3 class="after">The longest wait in the last 24 hours</h3>${timeChart({
    label: 'Longest waiting time of a run, over the last 24 hours',
    from: first,
    to: now,
    buckets,
    lines: ['p95'],
    marks,
  })}<p class="hint">At most ${counted(most, 'run')} waited at once.${marks.length === 0 ? '' : ' Bars below: agents reported the location as unhealthy.'} Periods without a running service are blank.</p>
<details class="fold queue-hours"><summary>Values by hour</summary>${queueHours(minutes)}</details>`;
}

const hourMs = 3_600_000;

/** The values of the chart as a table, newest hour first. */
function queueHours(minutes: readonly LocationMinuteRow[]): Html {
  const hours = Map.groupBy(minutes, ({ minute }) => Math.floor(minute / hourMs) * hourMs);
  return table({
    caption: 'Queue by hour, newest first',
    rows: [...hours].toSorted(([left], [right]) => right - left),
    empty: '',
    columns: [
      { title: 'Hour', cell: ([hour]) => instant(hour) },
      {
        title: 'Most waiting',
        isNumber: true,
        cell: ([, own]) => countText(Math.max(...own.map(({ queue_size: size }) => size))),
      },
      {
        title: 'Longest wait',
        isNumber: true,
        cell: ([, own]) => duration(Math.max(...own.map(({ oldest_age: age }) => age)) * 1_000),
      },
    ],
  });
}
