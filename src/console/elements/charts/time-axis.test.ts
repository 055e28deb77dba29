import { expect, it } from 'vitest';
import { placeOf, roundStep, ticksIn } from './time-axis.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const to = Date.UTC(2026, 10, 22, 12, 7);

it.each([
  ['1 hour', hourMs, 6, 10 * minuteMs],
  ['6 hours', 6 * hourMs, 6, hourMs],
  ['24 hours', dayMs, 8, 3 * hourMs],
  ['7 days', 7 * dayMs, 7, dayMs],
  ['30 days', 30 * dayMs, 6, 5 * dayMs],
  ['90 days', 90 * dayMs, 9, 10 * dayMs],
])('has about eight labels at round times over %s', (_name, lengthMs, labels, step) => {
  const ticks = ticksIn({ from: to - lengthMs, to });
  expect(ticks).toHaveLength(labels);
  expect(ticks.every(({ at }) => at % step === 0)).toBe(true);
  expect(new Set(ticks.map(({ word }) => word)).size).toBe(labels);
});

it('names the day where one begins', () => {
  const words = ticksIn({ from: to - dayMs, to }).map(({ word }) => word);
  expect(words).toEqual(['15:00', '18:00', '21:00', '22 Nov', '03:00', '06:00', '09:00', '12:00']);
});

it('divides any range into at most the wanted parts', () => {
  for (const lengthMs of [1, minuteMs, 100 * minuteMs, 3 * dayMs, 400 * dayMs, 40_000 * dayMs]) {
    const step = roundStep({ from: to - lengthMs, to }, 98);
    expect(Math.ceil(lengthMs / step)).toBeLessThanOrEqual(98);
    expect(step % minuteMs).toBe(0);
  }
});

it('cuts a part at the ends of the chart', () => {
  const span = { from: 1_000, to: 2_000 };
  expect(placeOf(span, { from: 0, to: 1_250 })).toEqual({ x: '0%', width: '25%' });
  expect(placeOf(span, { from: 1_900, to: 9_000 })).toEqual({ x: '90%', width: '10%' });
});
