import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { type AnalyticsAnswer, typedAnalyticsRoute } from '@picket/protocol/results/analytics.ts';
import type { Coverage } from '@picket/protocol/runs/coverage.ts';
import { roundStep } from '../elements/charts/time-axis.ts';
import type { PageCall } from '../page.ts';
import type { Range } from './range.ts';

/** An answer has at most 100 intervals, and the first and the last of a range may be cut. */
const mostIntervals = 98;
const minuteMs = 60_000;

export type Row = Readonly<Record<string, number | string | null>>;

/** The metrics of a check type that its page shows. */
export interface ShownMetrics {
  /** Keys of the percentiles: `responseTime_p95`. Empty for types without times. */
  readonly time: readonly string[];
  /** Names of consecutive phases, which add up to the time; for events the time itself. */
  readonly phases: readonly string[];
  /** Whether results are events, such as pings: they come from no location, and some have no time. */
  readonly isEvents: boolean;
}

/** Values of a check in intervals, for one location or all of them. */
export interface Trend {
  readonly intervalMs: number;
  /** By the start of the interval. */
  readonly rows: ReadonlyMap<number, Row>;
  readonly coverage: ReadonlyMap<number, Coverage>;
}

/** The values of a whole range. */
export interface Whole {
  readonly row: Row;
  readonly coverage: Coverage;
}

export interface Place extends Whole {
  readonly location: string;
}

/** Percentiles of a key: `p95`. */
export function percentileOf(key: string): string {
  return key.split('_')[1] ?? key;
}

export function shownMetrics(type: CheckType, isPhase: (name: string) => boolean): ShownMetrics {
  const names = type.analytics.metrics.filter(({ isPerItem }) => !isPerItem).map(({ name }) => name);
  const main = names.includes('responseTime')
    ? 'responseTime'
    : names.find((name) => /latency|rtt/i.test(name));
  const isEvents = type.analytics.states !== undefined;
  return {
    time: main === undefined ? [] : [`${main}_p50`, `${main}_p95`, `${main}_p99`],
    phases: names.filter((name) => (isEvents ? name === main : isPhase(name))),
    isEvents,
  };
}

/** The analytics of a check over a range. Each question is asked once, and only if something on the page needs it. */
export class CheckSeries {
  readonly metrics: ShownMetrics;
  readonly #ask: (keys: readonly string[], options?: Record<string, string>) => Promise<AnalyticsAnswer>;
  readonly #intervalMs: number;
  readonly #range: Range;
  #trend: Promise<Trend> | undefined;
  #trends: Promise<ReadonlyMap<string, Trend>> | undefined;

  constructor(
    { api }: Pick<PageCall, 'api'>,
    checkId: string,
    { type, metrics, range }: { type: CheckType; metrics: ShownMetrics; range: Range },
  ) {
    this.metrics = metrics;
    this.#range = range;
    this.#intervalMs = roundStep(range, mostIntervals);
    const route = typedAnalyticsRoute(type);
    const window = { from: new Date(range.from).toISOString(), to: new Date(range.to).toISOString() };
    this.#ask = (keys, options = {}) =>
      api.call(route, {
        params: { id: checkId },
        query: { ...window, metrics: keys.join(','), limit: 100, ...options } as never,
      });
  }

  async whole(): Promise<Whole> {
    const { series, coverage } = await this.#ask(['availability', ...this.metrics.time]);
    return { row: (series[0]?.data[0] ?? {}) as Row, coverage };
  }

  /** The same for each location, by name. */
  async places(): Promise<Place[]> {
    if (this.metrics.isEvents) return [];
    const { series, coverageByLocation } = await this.#ask(['availability', ...this.metrics.time], {
      groupBy: 'runLocation',
    });
    const rows = new Map(series.map((one) => [String(one['runLocation'] ?? ''), one.data[0] as Row]));
    return Object.entries(coverageByLocation)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([location, coverage]) => ({ location, coverage, row: rows.get(location) ?? {} }));
  }

  /** Values of all locations together. */
  trend(): Promise<Trend> {
    this.#trend ??= this.#askTrend({}).then(({ series, coverageIntervals = [] }) => ({
      intervalMs: this.#intervalMs,
      rows: this.#byStart((series[0]?.data ?? []) as Row[]),
      coverage: new Map(
        coverageIntervals.map(({ timestamp, coverage }) => [Date.parse(timestamp), coverage]),
      ),
    }));
    return this.#trend;
  }

  /** Values of each location, by its name. */
  trends(): Promise<ReadonlyMap<string, Trend>> {
    this.#trends ??= this.#askTrend({ groupBy: 'runLocation' }).then(
      ({ series, coverageByLocation, coverageIntervals = [] }) => {
        const rows = new Map(series.map((one) => [String(one['runLocation'] ?? ''), one.data as Row[]]));
        const names = new Set([...rows.keys(), ...Object.keys(coverageByLocation)]);
        names.delete('');
        const trendOf = (name: string): Trend => ({
          intervalMs: this.#intervalMs,
          rows: this.#byStart(rows.get(name) ?? []),
          coverage: new Map(
            coverageIntervals.flatMap(({ timestamp, coverageByLocation: own = {} }) => {
              const coverage = own[name];
              return coverage ? [[Date.parse(timestamp), coverage] as const] : [];
            }),
          ),
        });
        return new Map([...names].sort().map((name) => [name, trendOf(name)]));
      },
    );
    return this.#trends;
  }

  /** Starts of all intervals that the range touches. */
  starts(): number[] {
    const starts: number[] = [];
    const first = Math.floor(this.#range.from / this.#intervalMs) * this.#intervalMs;
    for (let at = first; at < this.#range.to; at += this.#intervalMs) starts.push(at);
    return starts;
  }

  #askTrend(options: Record<string, string>): Promise<AnalyticsAnswer> {
    const { time, phases } = this.metrics;
    return this.#ask(['availability', ...time, ...phases.map((name) => `${name}_avg`)], {
      ...options,
      aggregationInterval: String(this.#intervalMs / minuteMs),
    });
  }

  #byStart(rows: readonly Row[]): ReadonlyMap<number, Row> {
    return new Map(
      rows.map((row) => {
        const at = Date.parse(String(row['timestamp']));
        return [Math.floor(at / this.#intervalMs) * this.#intervalMs, row];
      }),
    );
  }
}
