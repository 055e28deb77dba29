import { instantOfLocal, isTimeZone } from '@picket/lib/time-zone.ts';
import { reportRanges } from '@picket/protocol/results/reporting.ts';
import { Temporal } from 'temporal-polyfill';

export const rangeWords: Readonly<Record<(typeof reportRanges)[number], string>> = {
  last24Hrs: 'Last 24 hours',
  last7Days: 'Last 7 days',
  last30Days: 'Last 30 days',
  thisWeek: 'This week',
  thisMonth: 'This month',
  lastWeek: 'Last week',
  lastMonth: 'Last month',
};

/** The selected report, as form fields and as an API query. */
export interface ReportChoice {
  /** The form's fields, to show it again and to request the same data as a table. */
  readonly fields: {
    readonly range: (typeof reportRanges)[number];
    readonly first: string;
    readonly last: string;
    readonly zone: string;
    readonly tag: string;
  };
  readonly query: Readonly<Record<string, string>>;
  /** Problem of a field, in which case the default applies. */
  readonly problem: string | null;
}

/**
 * Parses the query of the page: days in the calendar of a zone, both included, or a named range; by default the last 30 days, which have figures from
 * the first day on.
 */
export function choiceOf(query: URLSearchParams): ReportChoice {
  const given = (name: string) => (query.get(name) ?? '').trim().slice(0, 255);
  const asked = given('zone');
  const zone = asked === '' || !isTimeZone(asked) ? 'UTC' : asked;
  const range = reportRanges.find((one) => one === given('range')) ?? 'last30Days';
  const [first, last] = [dayOf(given('first')), dayOf(given('last'))];
  const isReversed = first !== null && last !== null && Temporal.PlainDate.compare(first, last) > 0;
  const days = first !== null && last !== null && !isReversed ? { first, last } : null;
  const problem =
    asked !== '' && asked !== zone
      ? `The time zone ${asked} does not exist. The times below are UTC.`
      : isReversed
        ? 'The last day is before the first. The report shows the named range instead.'
        : days === null && (given('first') !== '' || given('last') !== '')
          ? 'Enter both days, such as 2026-07-01 and 2026-07-31. The report shows the named range instead.'
          : null;
  const tag = given('tag');
  return {
    fields: { range, first: given('first'), last: given('last'), zone, tag },
    query: {
      ...(days
        ? { from: startOf(days.first, zone), to: startOf(days.last.add({ days: 1 }), zone) }
        : { quickRange: range }),
      timezone: zone,
      ...(tag === '' ? {} : { filterByTags: tag }),
    },
    problem,
  };
}

function startOf(day: Temporal.PlainDate, zone: string): string {
  return new Date(instantOfLocal(day.toPlainDateTime(), zone)).toISOString();
}

function dayOf(text: string): Temporal.PlainDate | null {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return null;
  try {
    return Temporal.PlainDate.from(text, { overflow: 'reject' });
  } catch {
    return null; // Such as the 31st of June.
  }
}
