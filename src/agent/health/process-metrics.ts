import { monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';

/** How often the lag is measured. */
const usualTickMs = 500;
/** The longest interval of a timer: as good as never. */
const neverMs = 2 ** 31 - 1;
const nanosecondsPerMs = 1e6;

type Ticks = ReturnType<typeof monitorEventLoopDelay>;

/** By the last part of prom-client's names: what they show, and how they read it, in nanoseconds. */
const lagGauges: readonly (readonly [
  part: string,
  words: string,
  read: (ticks: Ticks, tickNs: number) => number,
])[] = [
  ['min', 'minimum', ({ min }, tickNs) => min - tickNs],
  ['max', 'maximum', ({ max }, tickNs) => max - tickNs],
  ['mean', 'mean', ({ mean }, tickNs) => mean - tickNs],
  ['stddev', 'standard deviation', ({ stddev }) => stddev],
  ['p50', '50th percentile', (ticks, tickNs) => ticks.percentile(50) - tickNs],
  ['p90', '90th percentile', (ticks, tickNs) => ticks.percentile(90) - tickNs],
  ['p99', '99th percentile', (ticks, tickNs) => ticks.percentile(99) - tickNs],
];

/**
 * Metrics of the process, under prom-client's names. Its own timer for the lag of the event loop wakes the main thread a
 * hundred times a second, which cost an agent 3 ms of processor time in each, and counts its interval as lag. The
 * gauges here do neither.
 */
export function collectProcessMetrics(registry: Registry, tickMs = usualTickMs): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: neverMs });
  const ticks = monitorEventLoopDelay({ resolution: tickMs });
  ticks.enable();
  for (const [part, words, read] of lagGauges) {
    const name = `nodejs_eventloop_lag_${part}_seconds`;
    registry.removeSingleMetric(name);
    new Gauge({
      name,
      help: `Lag of the event loop since the last scrape: ${words}`,
      registers: [registry],
      collect() {
        const nanoseconds = ticks.count === 0 ? 0 : read(ticks, tickMs * nanosecondsPerMs);
        this.set(Math.max(0, nanoseconds) / nanosecondsPerMs / 1000);
        if (part === lagGauges.at(-1)?.[0]) ticks.reset();
      },
    });
  }
}
