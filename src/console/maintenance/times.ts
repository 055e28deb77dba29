import { instantOfLocal, isTimeZone, localTime } from '@picket/lib/time-zone.ts';
import type { WindowDefinition } from '@picket/protocol/pages/maintenance-window.ts';
import { Temporal } from 'temporal-polyfill';
import { inZone } from '../elements/zoned-time.ts';

const localPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?$/;

/** Formats an instant in a zone for date fields of browsers. */
export function localText(iso: string, zone: string): string {
  const local = localTime(Date.parse(iso), isTimeZone(zone) ? zone : 'UTC');
  return local.toString({ smallestUnit: local.second === 0 ? 'minute' : 'second' });
}

/** Converts a local time of a zone to an instant; any other text stays unchanged, for the schema. */
export function instantText(local: string, zone: string): string {
  if (!localPattern.test(local)) return local;
  try {
    const time = Temporal.PlainDateTime.from(local, { overflow: 'reject' });
    return new Date(instantOfLocal(time, isTimeZone(zone) ? zone : 'UTC')).toISOString();
  } catch {
    // Such as the 31st of a short month: the schema refuses it as a date.
    return local;
  }
}

const units = { DAY: 'day', WEEK: 'week', MONTH: 'month' } as const;

/** Describes how a window recurs. */
export function ruleWords({
  repeatInterval,
  repeatUnit,
  repeatEndsAt,
  timezone,
}: Pick<WindowDefinition, 'repeatInterval' | 'repeatUnit' | 'repeatEndsAt'> & {
  readonly timezone?: string;
}): string {
  if (repeatInterval === null || repeatUnit === null) return 'once';
  const unit = units[repeatUnit];
  const every = repeatInterval === 1 ? `every ${unit}` : `every ${repeatInterval} ${unit}s`;
  return repeatEndsAt === null
    ? every
    : `${every} until ${inZone(Date.parse(repeatEndsAt), timezone ?? 'UTC')}`;
}
