import { isDeepStrictEqual } from 'node:util';
import { failingPeriodSeconds, subMinutePeriodsSeconds } from '@picket/checks/contract/frequency.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import type { Field, Scalar } from '../forms/field.ts';

type Entry = Readonly<Record<string, unknown>>;
interface Subscription {
  readonly alertChannelId: number;
  readonly activated: boolean;
}

/**
 * Forms simplify two fields of the API: periods below a minute are a frequency of 0 with an offset, and subscriptions
 * are objects. A form shows one list of periods, and checkboxes for channels.
 */
export function withFormFields(fields: readonly Field[]): Field[] {
  return fields.map((field): Field => {
    if (field.key === 'frequency' && field.kind === 'choice')
      return { ...field, options: periods(field.options) };
    if (field.key === 'alertChannelSubscriptions') return { ...field, kind: 'set', options: [] };
    return field;
  });
}

const subMinute = (seconds: number) => `0/${seconds}`;

function periods(options: readonly Scalar[]): Scalar[] {
  return options.flatMap((option) => (option === 0 ? subMinutePeriodsSeconds.map(subMinute) : [option]));
}

/** Names of periods. */
export const periodWords: Readonly<Record<string, string>> = {
  ...Object.fromEntries(subMinutePeriodsSeconds.map((one) => [subMinute(one), `every ${one} seconds`])),
  ...Object.fromEntries(
    [1, 2, 5, 10, 15, 30].map((minutes) => [
      String(minutes),
      minutes === 1 ? 'every minute' : `every ${minutes} minutes`,
    ]),
  ),
  ...Object.fromEntries(
    [1, 2, 3, 6, 12, 24].map((hours) => [
      String(hours * 60),
      hours === 1 ? 'every hour' : `every ${hours} hours`,
    ]),
  ),
};

/** Names of periods while a check fails. */
export const failingPeriodWords: Readonly<Record<string, string>> = {
  ...periodWords,
  '': 'the same as always',
  '0': `every ${failingPeriodSeconds} seconds`,
};

/** Converts a definition to form fields. */
export function asShown(definition: Entry): Entry {
  const { frequency, frequencyOffset, alertChannelSubscriptions } = definition;
  return {
    ...definition,
    ...(frequency === 0 ? { frequency: subMinute(Number(frequencyOffset)) } : {}),
    ...(Array.isArray(alertChannelSubscriptions)
      ? { alertChannelSubscriptions: activeIds(alertChannelSubscriptions as Subscription[]).map(String) }
      : {}),
  };
}

/** Converts form fields to a definition. */
export function asWritten(shown: Entry, stored: Entry = {}): Record<string, unknown> {
  const written: Record<string, unknown> = { ...shown };
  const period = /^0\/(\d+)$/.exec(String(shown['frequency']));
  if (period) Object.assign(written, { frequency: 0, frequencyOffset: Number(period[1]) });
  // An offset belongs to its frequency: the service chooses a suitable one.
  else if (shown['frequency'] !== stored['frequency']) delete written['frequencyOffset'];
  if (Array.isArray(shown['alertChannelSubscriptions'])) {
    const before = (stored['alertChannelSubscriptions'] ?? []) as Subscription[];
    written['alertChannelSubscriptions'] = subscriptionsOf(
      shown['alertChannelSubscriptions'].map(Number),
      before,
    );
  }
  const strategy = shown['retryStrategy'];
  if (isRecord(strategy) && strategy['type'] === 'SINGLE_RETRY') {
    const { maxRetries: _retries, maxDurationSeconds: _duration, ...rest } = strategy;
    written['retryStrategy'] = rest;
  }
  return written;
}

/** Channels disabled for the check stay disabled until their box is ticked. */
function subscriptionsOf(ids: readonly number[], before: readonly Subscription[]): readonly Subscription[] {
  if (isDeepStrictEqual(ids.toSorted(byNumber), activeIds(before).sort(byNumber))) return before;
  const off = before.filter(({ alertChannelId, activated }) => !activated && !ids.includes(alertChannelId));
  return [...ids.map((alertChannelId) => ({ alertChannelId, activated: true })), ...off];
}

function activeIds(subscriptions: readonly Subscription[]): number[] {
  return subscriptions.flatMap(({ alertChannelId, activated }) => (activated ? [alertChannelId] : []));
}

function byNumber(left: number, right: number): number {
  return left - right;
}
