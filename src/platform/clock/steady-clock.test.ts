import { createLogger } from '@picket/lib/log.ts';
import { afterEach, expect, it } from 'vitest';
import { SteadyClock } from './steady-clock.ts';

const logger = createLogger('test', 'silent');
const hour = 3_600_000;

/** A host whose clocks move when the test says so. */
class Host {
  nowMs = 5_000;
  jumpedMs = 0;
  sleptMs = 0;

  wallMs(): number {
    return Date.UTC(2026, 0, 1) + this.nowMs + this.jumpedMs + this.sleptMs;
  }

  monotonicMs(): number {
    return this.nowMs;
  }

  /** Never wakes: only the test polls. */
  sleep(): Promise<void> {
    return new Promise(() => undefined);
  }
}

let clock: SteadyClock;
afterEach(() => clock.close());

function opened(host: Host): { readonly advance: (ms: number) => void; readonly offMs: () => number } {
  clock = SteadyClock.open({ host, logger, uptimeMs: () => host.nowMs + host.sleptMs });
  return {
    advance: (ms) => {
      for (let doneMs = 0; doneMs < ms; doneMs += 1_000) {
        host.nowMs += 1_000;
        clock.look();
      }
    },
    offMs: () => Math.round(clock.wallMs() - Date.UTC(2026, 0, 1) - host.nowMs),
  };
}

it('does not follow a clock that jumps ahead and back', () => {
  const host = new Host();
  const { advance, offMs } = opened(host);
  for (const jump of [hour, -hour, 20 * hour]) {
    host.jumpedMs = jump;
    advance(50_000);
    expect(offMs()).toBe(0);
    host.jumpedMs = 0;
    advance(2_000);
  }
  expect(offMs()).toBe(0);
});

it('follows a clock that keeps its new time, after a minute', () => {
  const host = new Host();
  const { advance, offMs } = opened(host);
  host.jumpedMs = -hour;
  advance(59_000);
  expect(offMs()).toBe(0);
  advance(3_000);
  expect(offMs()).toBe(-hour);
});

it('corrects small differences slowly, so that no slot is skipped', () => {
  const host = new Host();
  const { advance, offMs } = opened(host);
  host.jumpedMs = 400;
  advance(10_000);
  expect(offMs()).toBe(50);
  advance(100_000);
  expect(offMs()).toBe(400);
});

it('follows a machine at once that slept', () => {
  const host = new Host();
  const { advance, offMs } = opened(host);
  host.sleptMs = 8 * hour;
  advance(1_000);
  expect(offMs()).toBe(8 * hour);
});
