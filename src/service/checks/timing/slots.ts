import { hash } from 'node:crypto';
import { intervalMs, offsetRule } from '@picket/checks/contract/frequency.ts';
import { longestFreshnessMs } from '../state/silence.ts';
import type { Check } from '../store.ts';

/**
 * Slots: the instants at which a check is due. They lie on a grid anchored at the epoch, so every process computes the
 * same ones, also after a restart. The position of a check within its interval follows from its `frequencyOffset`; a
 * hash of its id spreads checks with the same offset over the step between two offsets, so that no second gets more
 * than its share.
 */

/** Inputs of a check's slot grid. */
export interface SlotSource {
  readonly id: string;
  readonly frequency: number;
  readonly frequencyOffset: number;
}

export interface SlotGrid {
  /** Milliseconds between two slots. */
  readonly intervalMs: number;
  /** Slots are at `phaseMs + n * intervalMs` after the epoch; at least 0 and below the interval. */
  readonly phaseMs: number;
}

const minuteStepMs = 6_000;
const hourMs = 3_600_000;

/**
 * Slot grid of a check (spec.md, `frequencyOffset` rules; units of check model 1.1). Frequency 0: the offset is the
 * period in seconds. Up to 60 minutes: the offset counts steps of 6 seconds. Above: it counts hours.
 */
export function slotGrid(source: SlotSource): SlotGrid {
  const interval = intervalMs(source.frequency, source.frequencyOffset);
  const spread = spreadOf(source.id);
  if (source.frequency === 0) return { intervalMs: interval, phaseMs: Math.floor(spread * interval) };
  const stepMs = source.frequency <= 60 ? minuteStepMs : hourMs;
  const phaseMs = source.frequencyOffset * stepMs + Math.floor(spread * stepMs);
  return { intervalMs: interval, phaseMs: phaseMs % interval };
}

/** Position of a check among those with the same offset, from 0 up to 1. */
export function spreadOf(id: string): number {
  return fraction(id, 'spread');
}

/** Default offset of a check: stable, spread by id, within the bounds of its frequency. */
export function defaultOffset(id: string, frequency: number): number {
  const rule = offsetRule(frequency);
  if ('allowed' in rule) return rule.allowed[0] ?? 10;
  return rule.min + Math.floor(fraction(id, 'offset') * (rule.max - rule.min + 1));
}

/** First slot after an instant, in epoch milliseconds. */
export function nextSlotAfter(grid: SlotGrid, instantMs: number): number {
  return grid.phaseMs + slotIndex(grid, instantMs) * grid.intervalMs + grid.intervalMs;
}

/** Number of whole intervals between the epoch and the last slot at or before an instant. */
export function slotIndex(grid: SlotGrid, instantMs: number): number {
  return Math.floor((instantMs - grid.phaseMs) / grid.intervalMs);
}

/**
 * Locations of a slot: all if the check runs in parallel, else one location after another in list order. Stateless: the
 * number of the slot decides.
 */
export function locationsOfSlot(
  grid: SlotGrid,
  slotAt: number,
  locations: readonly string[],
  runParallel: boolean,
): readonly string[] {
  return locationsOfNumber(slotIndex(grid, slotAt), locations, runParallel);
}

/** Same by the number of the slot. */
export function locationsOfNumber(
  slotNumber: number,
  locations: readonly string[],
  runParallel: boolean,
): readonly string[] {
  if (runParallel || locations.length <= 1) return locations;
  const location = locations[slotNumber % locations.length];
  return location === undefined ? [] : [location];
}

/** Locations of a definition in order, data-center locations first, without duplicates. */
export function locationsOf(definition: {
  readonly locations?: unknown;
  readonly privateLocations?: unknown;
}): string[] {
  const named = [definition.locations, definition.privateLocations].flatMap((list) =>
    Array.isArray(list) ? (list as string[]) : [],
  );
  return [...new Set(named)];
}

/**
 * How long a slot may wait in the queue before it is missed: its interval, at most six minutes (design, decision 9).
 */
export function freshnessMs(grid: SlotGrid): number {
  return Math.min(grid.intervalMs, longestFreshnessMs);
}

/** A number in [0, 1) determined only by the id and a purpose. */
function fraction(id: string, purpose: string): number {
  return hash('sha256', `${purpose}:${id}`, 'buffer').readUInt32BE(0) / 2 ** 32;
}

/** Slot grid of a stored check. */
export function gridOf(check: Pick<Check, 'id' | 'definition'>): SlotGrid {
  return slotGrid({
    id: check.id,
    frequency: check.definition.frequency as number,
    frequencyOffset: check.definition.frequencyOffset as number,
  });
}
