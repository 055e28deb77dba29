import type { Clock } from '@picket/lib/clock.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { ServiceClock } from './service-clock.ts';

describe('ServiceClock', () => {
  let nowMs = 0;
  let wallMs = 5_000_000;
  const clock: Clock = { monotonicMs: () => nowMs, wallMs: () => wallMs, sleep: async () => undefined };
  let service: ServiceClock;

  beforeEach(() => {
    nowMs = 1000;
    wallMs = 5_000_000;
    service = new ServiceClock(clock);
  });

  it("is this host's clock before the first response", () => {
    expect(nowMs + service.offsetMs).toBe(5_000_000);
    expect(service.errorMs).toBe(Number.POSITIVE_INFINITY);
    expect(service.isStale).toBe(true);
  });

  it('takes the middle of the round trip, and half of it as the error', () => {
    nowMs = 1100;
    service.sample(9_000_000, 1000, 1100);
    expect(service.toMonotonicMs(9_000_000)).toBe(1050);
    expect(service.errorMs).toBe(50);
    expect(service.isStale).toBe(false);
    expect(service.wallSkewMs).toBe(5_000_000 - 9_000_050);
  });

  it('keeps the better sample, until it has aged', () => {
    nowMs = 1010;
    service.sample(9_000_000, 1000, 1010);
    const { offsetMs } = service;
    nowMs = 31_000;
    service.sample(9_025_000, 1010, 31_000);
    expect(service.offsetMs).toBe(offsetMs);
    nowMs = 2_001_010;
    expect(service.isStale).toBe(true);
    expect(service.errorMs).toBeCloseTo(5 + 200);
    service.sample(11_000_100, 2_000_810, 2_001_010);
    expect(service.offsetMs).toBe(11_000_100 - 2_000_910);
  });

  it('accepts any sample once the best is stale, so that one short call is enough', () => {
    nowMs = 1010;
    service.sample(9_000_000, 1000, 1010);
    nowMs = 400_000;
    expect(service.isStale).toBe(true);
    nowMs = 402_000;
    service.sample(9_400_000, 400_000, 402_000);
    expect(service.isStale).toBe(false);
    expect(service.errorMs).toBeGreaterThanOrEqual(1000);
  });

  it('follows a service whose clock was set, whatever the round trip', () => {
    nowMs = 1010;
    service.sample(9_000_000, 1000, 1010);
    nowMs = 2000;
    service.sample(9_000_000 - 3_600_000, 1500, 2000);
    expect(service.offsetMs).toBe(9_000_000 - 3_600_000 - 1750);
  });

  it("ignores changes of this host's clock", () => {
    nowMs = 1010;
    service.sample(9_000_000, 1000, 1010);
    const { offsetMs } = service;
    wallMs -= 7_200_000;
    expect(service.offsetMs).toBe(offsetMs);
  });
});
