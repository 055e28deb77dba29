import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { collectProcessMetrics } from './process-metrics.ts';

const tickMs = 50;

it('measures the lag of the event loop without the interval of its ticks', async () => {
  const registry = new Registry();
  collectProcessMetrics(registry, tickMs);
  const lag = async () => {
    const text = await registry.metrics();
    const lines = [...text.matchAll(/^nodejs_eventloop_lag_(\w+)_seconds (\S+)$/gm)];
    return new Map(lines.map(([, part, value]) => [part, Number(value)]));
  };
  const names = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'];
  expect(await lag()).toEqual(new Map(names.map((name) => [name, 0])));
  // Ticks like those of the gauges, which begin after them; reading the gauges begins anew.
  const ticks = monitorEventLoopDelay({ resolution: tickMs });
  ticks.enable();
  const counted = async (count: number) => {
    while (ticks.count < count) await delay(tickMs / 5);
  };
  await counted(2);
  // A real absence, longer than a tick: it makes the next one late.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6 * tickMs);
  await counted(4);
  const found = await lag();
  expect(found.get('max')).toBeGreaterThan((4 * tickMs) / 1000);
  expect(found.get('min')).toBeGreaterThanOrEqual(0);
  expect(found.get('p50')).toBeLessThanOrEqual(found.get('max') ?? 0);
  ticks.disable();
}, 20_000);
