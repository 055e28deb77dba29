import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { definitionSchema } from '@picket/checks/contract/definition/definition.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import { expectedAssertions } from './assertions.ts';
import { writtenType } from './check-type.ts';
import { amountOf, durationMs, failingFrequencyOf, frequencyOf } from './durations.ts';
import { withFullNames } from './field-names.ts';
import { inFormOf } from './values.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The fields of a check file in the form of the API. A file is written by hand, so it may use other names and shorter
 * forms that can only mean one thing: `host` for `request.hostname`, `frequency: 30s`, `status == 200`. A file in the form
 * of the API stays as it is.
 *
 * @returns problems, each with its field, where a short form cannot be read.
 */
export function expandCheck(written: Fields): {
  readonly fields: Fields;
  readonly problems: readonly string[];
} {
  const found = writtenType(written);
  if ('problem' in found) return { fields: written, problems: [found.problem] };
  const { type, name } = found;
  const { checkType: _checkType, type: _type, expect, ...rest } = written;
  const schema = definitionSchema(type);
  const problems: string[] = [];
  const expected = expect === undefined || 'expect' in schema.shape ? undefined : expectedAssertions(expect);
  if (expected && 'problem' in expected) problems.push(`expect: ${expected.problem}`);
  const named = withFullNames(schema, expected || expect === undefined ? rest : { ...rest, expect });
  problems.push(...named.problems);
  const timed = withInterval(withScheduleOfPings(type, named.fields), problems);
  const fields = inFormOf(schema, withAssertions(timed, expected), [], problems) as Record<string, unknown>;
  // An object that is missing as a whole would hide which of its fields are required.
  for (const holder of ['request', 'heartbeat']) {
    if (holder in schema.shape) fields[holder] ??= {};
  }
  return {
    fields: { checkType: type.name, ...(type.shorthand?.complete?.(fields, name) ?? fields) },
    problems,
  };
}

function withAssertions(
  fields: Record<string, unknown>,
  expected: ReturnType<typeof expectedAssertions> | undefined,
): Record<string, unknown> {
  if (!expected || 'problem' in expected) return fields;
  const request = isRecord(fields['request']) ? fields['request'] : {};
  const own = request['assertions'] === undefined ? [] : [request['assertions']].flat();
  return { ...fields, request: { ...request, assertions: [...own, ...expected.lines] } };
}

/** A schedule of a type whose targets send pings says when they are expected: it belongs to its own fields. */
function withScheduleOfPings(type: CheckType, fields: Record<string, unknown>): Record<string, unknown> {
  const [owner = '', key = ''] = type.pings?.scheduleField.split('.') ?? [];
  const { schedule, ...rest } = fields;
  if (owner === '' || schedule === undefined) return fields;
  const own = isRecord(rest[owner]) ? rest[owner] : {};
  return { ...rest, [owner]: { [key]: schedule, ...own } };
}

/** `frequency: 30s` and the period and grace time of a heartbeat, which are two fields each. */
function withInterval(fields: Record<string, unknown>, problems: string[]): Record<string, unknown> {
  const ms = durationMs(fields['frequency']);
  const interval = ms === undefined ? {} : frequencyOf(ms);
  if ('problem' in interval) problems.push(`frequency: ${interval.problem}`);
  const failingMs = durationMs(fields['frequencyWhileFailing']);
  const failing = failingMs === undefined ? {} : failingFrequencyOf(failingMs);
  if ('problem' in failing) problems.push(`frequencyWhileFailing: ${failing.problem}`);
  const { heartbeat } = fields;
  return {
    ...fields,
    ...('problem' in interval ? { frequency: undefined } : interval),
    ...('problem' in failing ? { frequencyWhileFailing: undefined } : failing),
    ...(isRecord(heartbeat) ? { heartbeat: wholeHeartbeat(heartbeat) } : {}),
  };
}

function wholeHeartbeat(heartbeat: Fields): Fields {
  const times = ['period', 'grace'].flatMap((name) => {
    const ms = durationMs(heartbeat[name]);
    if (ms === undefined) return [];
    const { amount, unit } = amountOf(ms);
    return [
      [name, amount],
      [`${name}Unit`, unit],
    ] as const;
  });
  return { ...heartbeat, ...Object.fromEntries(times) };
}
