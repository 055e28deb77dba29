import type {
  SummaryPhase,
  SummarySection,
  SummaryTable,
  SummaryText,
  SummaryValue,
} from '@picket/checks/summary/detail-summary.ts';
import { valueWords } from '@picket/checks/summary/parts.ts';
import { type CheckResult, summaryOfResult } from '@picket/protocol/results/check-result.ts';
import { bytes, duration } from '../elements/format.ts';

export type FactKind = 'failure' | 'header' | 'text';

/** A fact by which two runs can be compared. */
export interface Fact {
  readonly group: string;
  readonly name: string;
  /** Formatted for people. */
  readonly value: string;
  /** Value of a duration: durations always vary, and differ only by a large change. */
  readonly ms?: number;
  /** Differs between any two runs. */
  readonly isVolatile?: boolean;
  /** One of many lines: shown only if it differs. */
  readonly isLine?: boolean;
  /** Facts that a short comparison leaves out or sums up: the failure itself, headers, and parts of a text. */
  readonly kind?: FactKind;
}

/** Returns the facts of a run as a list. */
export function factsOf(result: CheckResult): Fact[] {
  const { responseTime, runLocation, failure } = result;
  const { addresses, phases = [], sections = [] } = summaryOfResult(result) ?? {};
  return [
    { group: 'Run', name: 'Location', value: runLocation },
    { group: 'Run', name: 'Failure', value: failure?.code ?? 'none', kind: 'failure' },
    { group: 'Run', name: 'Response time', value: duration(responseTime), ms: responseTime },
    ...(addresses ? sectionFacts(addresses) : []),
    ...sections.flatMap(sectionFacts),
    ...phaseFacts(phases),
  ];
}

function phaseFacts(phases: readonly SummaryPhase[]): Fact[] {
  return phases.flatMap(({ name, lengthMs: ms }) =>
    ms <= 0 ? [] : [{ group: 'Time', name, value: duration(ms), ms }],
  );
}

function sectionFacts({
  title,
  line,
  facts = [],
  headers = {},
  texts = [],
  table,
  path = [],
}: SummarySection): Fact[] {
  return [
    ...(line ? valueFacts(title, '', line.text) : []),
    ...valueFacts(title, 'Target URL', line?.url ?? null),
    ...facts.flatMap(({ name, value, isVolatile = false }) => valueFacts(title, name, value, isVolatile)),
    ...Object.entries(headers).map(([name, value]) => ({
      ...{ group: `${title} headers`, name: name.toLowerCase(), value },
      isVolatile: volatileHeaders.test(name),
      kind: 'header' as const,
    })),
    ...texts.flatMap(textFacts),
    ...(table ? tableFacts(title, table) : []),
    ...path.map(({ number, addresses, host }) => ({
      ...{ group: title, name: `Hop ${number}` },
      value:
        addresses.length === 0
          ? 'no response'
          : `${addresses.toSorted().join(', ')}${host ? ` (${host})` : ''}`,
    })),
  ];
}

/** Headers that differ between any two responses. */
const volatileHeaders =
  /^(date|age|expires|set-cookie|etag|last-modified|.*request-id|.*trace.*|cf-ray|x-amz-.*)$/i;

/** Returns the facts of a table, by row key and compared column. */
function tableFacts(title: string, { columns, rows }: SummaryTable): Fact[] {
  const key = columns.findIndex(({ role }) => role === 'key');
  return rows.flatMap((row) =>
    columns.flatMap((column, index) =>
      column.role === 'compared'
        ? valueFacts(title, `${valueWords(row[key] ?? null)}: ${column.title}`, row[index] ?? null)
        : [],
    ),
  );
}

/** For longer texts, only the beginning is compared. */
const comparedLines = 2_000;

function textFacts({ label, compared }: SummaryText): Fact[] {
  if (compared === undefined) return [];
  return [
    { group: label, name: 'Size', value: bytes(Buffer.byteLength(compared)), kind: 'text' },
    ...compared.split('\n', comparedLines).map((line, index) => ({
      group: label,
      name: `Line ${index + 1}`,
      value: line.slice(0, 300),
      isLine: true,
      kind: 'text' as const,
    })),
  ];
}

function valueFacts(group: string, name: string, value: SummaryValue, isVolatile = false): Fact[] {
  if (value === null || value === '') return [];
  const ms = typeof value === 'object' && value.kind === 'duration' ? { ms: value.ms } : {};
  return [{ group, name, value: valueWords(value), isVolatile, ...ms }];
}
