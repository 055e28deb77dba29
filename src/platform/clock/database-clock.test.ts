import { createLogger } from '@picket/lib/log.ts';
import { expect, it } from 'vitest';
import { DatabaseClock } from './database-clock.ts';

const logger = createLogger('test', 'silent');

/** A host with wrong dates, and a database with delayed responses. */
class World {
  nowMs = 1_000;
  databaseAheadMs = Date.UTC(2026, 5, 1);
  isAway = false;
  #wake: (() => void) | undefined;

  readonly host = {
    wallMs: () => 0,
    monotonicMs: () => this.nowMs,
    sleep: (_ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal?.addEventListener('abort', () => resolve(), { once: true });
      }),
  };

  readonly readMs = async (): Promise<number> => {
    if (this.isAway) throw new Error('away');
    this.nowMs += 30;
    const readMs = this.nowMs + this.databaseAheadMs;
    this.nowMs += 10;
    return readMs;
  };

  async second(): Promise<void> {
    this.nowMs += 960;
    this.#wake?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

it("uses the dates of the database, whatever the host's clock shows and while the database is unavailable", async () => {
  const world = new World();
  const clock = await DatabaseClock.open({ ...world, logger });
  const errorMs = () => Math.abs(clock.wallMs() - world.nowMs - world.databaseAheadMs);
  expect(errorMs()).toBeLessThanOrEqual(20);
  world.isAway = true;
  for (let count = 0; count < 100; count += 1) await world.second();
  expect(errorMs()).toBeLessThanOrEqual(20);
  clock.close();
});

it('follows a database whose clock is set', async () => {
  const world = new World();
  const clock = await DatabaseClock.open({ ...world, logger });
  for (const movedMs of [300_000, -7_200_000]) {
    world.databaseAheadMs += movedMs;
    await world.second();
    expect(Math.abs(clock.wallMs() - world.nowMs - world.databaseAheadMs)).toBeLessThanOrEqual(20);
  }
  clock.close();
});
