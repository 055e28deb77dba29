import { isRecord } from '@picket/lib/json/record.ts';
import { dictionary } from '@picket/lib/names/dictionary.ts';
import type { z } from 'zod';
import { durationMs } from './durations.ts';
import { bareSchema, shapeOf, textsOf } from './schema-shape.ts';

/** Subjects of an assertion, each with the sources that it may stand for: the first that the type has. */
const subjects = dictionary<readonly string[]>({
  status: ['STATUS_CODE', 'GRPC_STATUS_CODE'],
  statuscode: ['STATUS_CODE', 'GRPC_STATUS_CODE'],
  code: ['STATUS_CODE', 'RESPONSE_CODE', 'GRPC_STATUS_CODE'],
  rcode: ['RESPONSE_CODE'],
  responsecode: ['RESPONSE_CODE'],
  responsetime: ['RESPONSE_TIME'],
  time: ['RESPONSE_TIME'],
  body: ['TEXT_BODY', 'RESPONSE_DATA', 'TEXT_ANSWER', 'TEXT_RESPONSE'],
  text: ['TEXT_BODY', 'RESPONSE_DATA', 'TEXT_ANSWER', 'TEXT_RESPONSE'],
  answer: ['TEXT_ANSWER'],
  data: ['RESPONSE_DATA'],
  latency: ['LATENCY'],
  value: ['VALUE'],
  rows: ['ROW_COUNT'],
  rowcount: ['ROW_COUNT'],
  querytime: ['QUERY_TIME'],
});
const jsonSources = ['JSON_BODY', 'JSON_ANSWER', 'JSON_RESPONSE'];
const operators = dictionary<string>({
  ...{ '==': 'EQUALS', '=': 'EQUALS', '===': 'EQUALS', is: 'EQUALS', eq: 'EQUALS', equals: 'EQUALS' },
  ...{ '!=': 'NOT_EQUALS', '!==': 'NOT_EQUALS', ne: 'NOT_EQUALS' },
  ...{ '<': 'LESS_THAN', lt: 'LESS_THAN', '>': 'GREATER_THAN', gt: 'GREATER_THAN' },
  ...{ contains: 'CONTAINS', includes: 'CONTAINS', 'not contains': 'NOT_CONTAINS' },
  ...{ 'younger than': 'AGE_LESS_THAN', 'older than': 'AGE_GREATER_THAN' },
});
const example = '{ source: STATUS_CODE, comparison: EQUALS, target: "200" }';

/** An assertion as an object, from one or from a line such as `status == 200`; a string where it cannot be read. */
export function wholeAssertion(
  written: unknown,
  schema: z.ZodType,
): { readonly assertion: unknown } | { readonly problem: string } {
  const sources = textsOf(shapeOf(bareSchema(schema))['source'] ?? schema) ?? [];
  if (isRecord(written)) return { assertion: withKnownWords(written, sources) };
  if (typeof written !== 'string') return { assertion: written };
  const [, subject, operator, target] =
    /^\s*(.+?)\s+(===?|!==?|<|>|=|is|eq|ne|lt|gt|equals|includes|not contains|contains|younger than|older than)\s+(.+?)\s*$/i.exec(
      spaced(written),
    ) ?? [];
  const found = subject === undefined ? undefined : subjectOf(subject, sources);
  const comparison = operators[operator?.toLowerCase() ?? ''];
  if (!found || comparison === undefined || target === undefined) {
    return { problem: `"${written}" cannot be read; write ${example}` };
  }
  return { assertion: { ...found, comparison, target: targetOf(target, found.source) } };
}

/** The assertions of `expect: { status: 200, body: ok }`, `expect: 200` or `expect: ok`. */
export function expectedAssertions(
  expected: unknown,
): { readonly lines: readonly string[] } | { readonly problem: string } {
  if (typeof expected === 'number') return { lines: [`status == ${expected}`] };
  if (typeof expected === 'string') return { lines: [`body contains ${expected}`] };
  if (!isRecord(expected)) return { problem: `write assertions: [${example}]` };
  const lines = Object.entries(expected).map(([name, value]) => {
    const bare = bareName(name);
    const operator = ['body', 'text', 'answer', 'data'].includes(bare)
      ? 'contains'
      : /time|latency/.test(bare)
        ? '<'
        : '==';
    return `${name} ${operator} ${String(value)}`;
  });
  return { lines };
}

function withKnownWords(written: Readonly<Record<string, unknown>>, sources: readonly string[]): unknown {
  const { operator, value, path, ...rest } = written;
  const comparison = rest['comparison'] ?? operator;
  const target = rest['target'] ?? value;
  const property = rest['property'] ?? path;
  const source = rest['source'];
  const found =
    typeof source === 'string' && !sources.includes(source) ? subjectOf(source, sources) : undefined;
  return {
    ...rest,
    ...(property === undefined ? {} : { property }),
    ...found,
    ...(comparison === undefined
      ? {}
      : { comparison: operators[String(comparison).toLowerCase()] ?? comparison }),
    // A JSON schema, written as YAML or JSON.
    ...(target === undefined ? {} : { target: isRecord(target) ? JSON.stringify(target) : target }),
  };
}

function subjectOf(
  subject: string,
  sources: readonly string[],
): { readonly source: string; readonly property?: string } | undefined {
  const first = (names: readonly string[]) => names.find((name) => sources.includes(name)) ?? names[0];
  if (/^\$(?:[.[]|$)/.test(subject)) return { source: String(first(jsonSources)), property: subject };
  const [, header] = /^headers?(?:\.|\s+|\[['"]?)([\w-]+)['"]?\]?$/i.exec(subject) ?? [];
  if (header !== undefined) return { source: 'HEADERS', property: header };
  const names = subjects[bareName(subject)];
  return names && { source: String(first(names)), ...(names.includes('LATENCY') ? { property: 'avg' } : {}) };
}

function targetOf(text: string, source: string): string {
  const bare = /^"(.*)"$|^'(.*)'$/s.exec(text);
  const ms = /TIME$|^LATENCY$/.test(source) ? durationMs(text) : undefined;
  return ms === undefined ? (bare?.[1] ?? bare?.[2] ?? text) : String(ms);
}

/** With spaces around the operator, which people leave out: `status==200`. */
function spaced(line: string): string {
  return line.replace(/^([^"'=!<>]+?)\s*(===?|!==?|<|>|=)\s*/, '$1 $2 ');
}

function bareName(name: string): string {
  return name.toLowerCase().replaceAll(/[\s_-]/g, '');
}
