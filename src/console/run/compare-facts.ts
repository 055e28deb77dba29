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

/** Something that two runs can be compared by. */
export interface Fact {
  readonly group: string;
  readonly name: string;
  /** As people read it. */
  readonly value: string;
  /** For lengths of time: they are never the same, and differ only where they do by much. */
  readonly ms?: number;
  /** Differs from run to run by its nature. */
  readonly isVolatile?: boolean;
  /** One of many lines: shown only where it differs. */
  readonly isLine?: boolean;
}

/** What a run found out, as a list. */
export function factsOf(result: CheckResult): Fact[] {
  const { responseTime, runLocation, failure } = result;
  const { addresses, phases = [], sections = [] } = summaryOfResult(result) ?? {};
  return [
    { group: 'Run', name: 'Location', value: runLocation },
    { group: 'Run', name: 'Failure', value: failure?.code ?? 'none' },
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

/** Headers that no two responses share. */
const volatileHeaders =
  /^(date|age|expires|set-cookie|etag|last-modified|.*request-id|.*trace.*|cf-ray|x-amz-.*)$/i;

/** Rows by their key, by the values of the columns to compare. */
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

/** Of longer texts the beginning is compared. */
const comparedLines = 2_000;

function textFacts({ label, compared }: SummaryText): Fact[] {
  if (compared === undefined) return [];
  return [
    { group: label, name: 'Size', value: bytes(Buffer.byteLength(compared)) },
    ...compared.split('\n', comparedLines).map((line, index) => ({
      group: label,
      name: `Line ${index + 1}`,
      value: line.slice(0, 300),
      isLine: true,
    })),
  ];
}

function valueFacts(group: string, name: string, value: SummaryValue, isVolatile = false): Fact[] {
  if (value === null || value === '') return [];
  const ms = typeof value === 'object' && value.kind === 'duration' ? { ms: value.ms } : {};
  return [{ group, name, value: valueWords(value), isVolatile, ...ms }];
}
