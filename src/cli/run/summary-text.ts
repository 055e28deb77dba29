import type {
  DetailSummary,
  SummaryAssertion,
  SummaryFact,
  SummaryHop,
  SummaryMessage,
  SummarySection,
  SummaryStep,
  SummaryTable,
  SummaryText,
} from '@picket/checks/summary/detail-summary.ts';
import { valueWords } from '@picket/checks/summary/parts.ts';
import { durationText } from '@picket/lib/figures/duration.ts';
import { printable, table } from '../api/text.ts';

/** Options for printing a summary. */
export interface Terminal {
  paint(format: 'green' | 'red' | 'bold', text: string): string;
  readonly width: number;
  /** Whether to include headers and texts, such as bodies, which help if a run did not pass. */
  readonly isWhole: boolean;
}

const [mostLines, mostRows, longestFound] = [20, 40, 60];
const indent = (line: string) => `  ${line}`;

/** Formats a summary for a terminal. */
export function summaryLines(summary: DetailSummary, terminal: Terminal): string[] {
  const { phases = [], assertions = [], addresses, sections, log = [] } = summary;
  const taken = phases.filter(({ lengthMs }) => lengthMs > 0);
  const times = taken.map(({ name, lengthMs }) => `${printable(name)} ${durationText(lengthMs)}`);
  return [
    ...(addresses ? sectionLines(addresses, terminal) : []),
    ...(times.length > 0 ? [times.join(', ')] : []),
    ...sections.flatMap((section) => sectionLines(section, terminal)),
    ...assertions.map((assertion) => assertionLine(assertion, terminal)),
    ...log.map(({ stage, level, msg }) => `${stage ? `${stage} ` : ''}${level}: ${printable(msg)}`),
  ].map(indent);
}

function sectionLines(section: SummarySection, terminal: Terminal): string[] {
  const { line, facts = [], headers = {}, texts = [], timeline = [], conversation = [], path = [] } = section;
  const whole = terminal.isWhole
    ? [
        ...Object.entries(headers).map(([name, value]) => printable(`${name}: ${value}`)),
        ...texts.flatMap(textLines),
      ]
    : [];
  const contents = [
    ...(section.note ? [printable(section.note)] : []),
    ...(line ? [printable(`${line.text}  ${line.url ?? ''}`).trimEnd()] : []),
    ...factLines(facts),
    ...whole,
    ...(section.table ? tableLines(section.table, terminal) : []),
    ...timeline.map((step) => stepLine(step, terminal)),
    ...conversation.map(messageLine),
    ...path.map(hopLine),
  ];
  return contents.length === 0 ? [] : [terminal.paint('bold', section.title), ...contents.map(indent)];
}

function factLines(facts: readonly SummaryFact[]): string[] {
  const shown = facts.flatMap(({ name, value, problem }) => {
    const words = [valueWords(value), problem ?? ''].filter(Boolean).join(', ');
    return value === null || words === '' ? [] : [{ name: `${printable(name)}:`, words: printable(words) }];
  });
  const width = Math.max(...shown.map(({ name }) => name.length));
  return shown.map(({ name, words }) => `${name.padEnd(width)}  ${words}`);
}

function textLines({ label, text }: SummaryText): string[] {
  const lines = text.trimEnd().split('\n');
  const rest = lines.length - mostLines;
  const shown = lines.slice(0, mostLines).map((line) => printable(line).slice(0, 1_000));
  return [`${printable(label)}:`, ...[...shown, ...(rest > 0 ? [`… ${rest} more lines`] : [])].map(indent)];
}

function tableLines({ columns, rows, empty }: SummaryTable, { width }: Terminal): string[] {
  if (rows.length === 0) return empty === undefined ? [] : [empty];
  const titles = columns.map(({ title }) => title);
  const cells = rows.slice(0, mostRows).map((row) => row.map(valueWords));
  const rest = rows.length - mostRows;
  return [...table(titles, cells, width - 4), ...(rest > 0 ? [`… ${rest} more rows`] : [])];
}

function stepLine({ name, lengthMs, isNested, isFailed }: SummaryStep, { paint }: Terminal): string {
  const mark = isFailed ? paint('red', '✕') : paint('green', '✓');
  return `${isNested ? '  ' : ''}${mark} ${printable(name)}  ${durationText(lengthMs)}`;
}

function messageLine({ isSent, atMs, text, note, problem }: SummaryMessage): string {
  const about = [durationText(atMs), note, problem].filter(Boolean).join(', ');
  return `${isSent ? '>' : '<'} ${printable(text).trim().slice(0, 1_000)}  (${printable(about)})`;
}

/** Formats ` 3  203.0.113.9 (edge.example.net)  9.1 ms (8.8 ms to 9.7 ms)  2 of 3`. */
function hopLine({ number, addresses, host, latency, received, sent, error }: SummaryHop): string {
  const hop = String(number).padStart(2);
  if (addresses.length === 0) return `${hop}  *  ${printable(error ?? 'no response')}`;
  const router = `${addresses.join(', ')}${host === null ? '' : ` (${printable(host)})`}`;
  const times = latency
    ? `${durationText(latency.avg)} (${durationText(latency.best)} to ${durationText(latency.worst)})`
    : '?';
  return [hop, router, times, `${received} of ${sent}`, ...(error ? [printable(error)] : [])].join('  ');
}

function assertionLine(assertion: SummaryAssertion, { paint }: Terminal): string {
  const { isMet, subject, property, comparison, expected, found } = assertion;
  const mark = isMet ? paint('green', 'passed') : paint('red', 'failed');
  const about = [subject, property].filter(Boolean).join(' ');
  const wanted = [comparison, expected].filter(Boolean).join(' ');
  const shown = found.length > longestFound ? `${found.slice(0, longestFound - 1)}…` : found;
  return `${mark}  ${printable(`${about}  ${wanted}, found ${shown}`)}`;
}
