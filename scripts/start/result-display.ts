import { styleText } from 'node:util';
import Table from 'cli-table3';
import logUpdate from 'log-update';
import { z } from 'zod';
import { valueWords } from '../../src/checks/summary/parts.ts';
import { durationText } from '../../src/lib/figures/duration.ts';
import { summaryOf } from '../../src/protocol/results/check-result.ts';

/** Fields of a check result that the display shows. */
export const ShownResult = z.object({
  id: z.string(),
  name: z.string(),
  checkId: z.string(),
  resultType: z.enum(['FINAL', 'ATTEMPT']),
  hasFailures: z.boolean(),
  hasErrors: z.boolean(),
  isDegraded: z.boolean().nullable(),
  runLocation: z.string(),
  responseTime: z.number(),
  startedAt: z.string().nullable(),
  scheduledAt: z.string(),
  failure: z.object({ code: z.string(), message: z.string() }).nullable(),
  apiCheckResult: z.unknown(),
});
export type ShownResult = z.infer<typeof ShownResult>;

/** One result with the type of its check. */
export interface ResultRow {
  readonly checkType: string;
  readonly result: ShownResult;
}

export interface ResultDisplay {
  show(row: ResultRow): void;
  /** Closes the display: the last state stays on screen. */
  close(): void;
}

/** A live table on a terminal, one plain line per result elsewhere. */
export function createResultDisplay(stream: NodeJS.WriteStream, heading: string): ResultDisplay {
  return stream.isTTY ? new LiveTable(stream, heading) : new PlainLines(stream);
}

class PlainLines implements ResultDisplay {
  readonly #stream: NodeJS.WriteStream;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  show(row: ResultRow): void {
    const [check, type, location, verdict, time, phases, lateness] = cells(row);
    this.#stream.write(
      `${verdict?.padEnd(8)} ${type?.padEnd(4)} ${location?.padEnd(8)} ${time?.padStart(9)}  late ${lateness?.padStart(6)}  ${check}  ${phases}\n`,
    );
  }

  close(): void {
    // Plain lines need no cleanup.
  }
}

class LiveTable implements ResultDisplay {
  readonly #stream: NodeJS.WriteStream;
  readonly #heading: string;
  readonly #latest = new Map<string, ResultRow>();
  #count = 0;

  constructor(stream: NodeJS.WriteStream, heading: string) {
    this.#stream = stream;
    this.#heading = heading;
  }

  show(row: ResultRow): void {
    this.#count += 1;
    this.#latest.set(row.result.checkId, row);
    const rows = [...this.#latest.values()].sort((a, b) => a.result.name.localeCompare(b.result.name));
    const shown = fitted([head, ...rows.map(cells)], this.#stream.columns || 80);
    const table = new Table({
      head: shown.rows[0] ?? [],
      style: { head: ['bold'], border: ['gray'] },
      chars: { mid: '', 'left-mid': '', 'mid-mid': '', 'right-mid': '' },
      colAligns: shown.columns.map((column) =>
        column === timeColumn || column === lateColumn ? 'right' : 'left',
      ),
    });
    for (const row of shown.rows.slice(1)) {
      table.push(row.map((text, index) => (shown.columns[index] === verdictColumn ? coloured(text) : text)));
    }
    logUpdate(`${this.#heading}\n${table.toString()}\n${this.#count} results so far. Ctrl-C stops.`);
  }

  close(): void {
    logUpdate.done();
  }
}

const head = ['check', 'type', 'location', 'verdict', 'time', 'phases or reason', 'late'];
const [checkColumn, typeColumn, locationColumn, verdictColumn] = [0, 1, 2, 3];
const [timeColumn, phasesColumn, lateColumn] = [4, 5, 6];
const leastPhases = 16;
/** Columns that a narrow terminal leaves out, in this order. */
const dispensable = [lateColumn, locationColumn, typeColumn, phasesColumn];

/**
 * Fits rows to the width of a terminal: shortens long phases and reasons, then drops the least useful columns, and
 * finally shortens names. The verdict stays.
 */
export function fitted(
  rows: readonly (readonly string[])[],
  width: number,
): { readonly columns: readonly number[]; readonly rows: string[][] } {
  let columns = head.map((_name, index) => index);
  const widest = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  // Each column has a border and a blank on both sides, plus one final border.
  const others = (without: number) =>
    columns.reduce((sum, column) => sum + 3 + (column === without ? 0 : widest(column)), 1);
  const roomFor = (column: number) => width - others(column);
  for (const column of dispensable) {
    if (roomFor(phasesColumn) >= Math.min(leastPhases, widest(phasesColumn))) break;
    columns = columns.filter((kept) => kept !== column);
  }
  const hasPhases = columns.includes(phasesColumn);
  const flexible = hasPhases ? phasesColumn : checkColumn;
  const room = Math.max(1, roomFor(flexible));
  const cut = (row: readonly string[]) =>
    columns.map((column) => (column === flexible ? shorten(row[column] ?? '', room) : (row[column] ?? '')));
  return { columns, rows: rows.map(cut) };
}

const verdictColours = {
  PASSED: 'green',
  DEGRADED: 'yellow',
  FAILED: 'red',
  ERROR: 'magenta',
  RETRYING: 'yellow',
} as const;
type Verdict = keyof typeof verdictColours;

function verdictOf(result: ShownResult): Verdict {
  if (result.resultType === 'ATTEMPT') return 'RETRYING';
  if (result.hasErrors) return 'ERROR';
  if (result.hasFailures) return 'FAILED';
  return result.isDegraded ? 'DEGRADED' : 'PASSED';
}

function coloured(verdict: string): string {
  return styleText(verdictColours[verdict as Verdict], verdict);
}

function cells({ checkType, result }: ResultRow): string[] {
  const lateMs =
    result.startedAt === null ? 0 : Date.parse(result.startedAt) - Date.parse(result.scheduledAt);
  return [
    result.name,
    checkType,
    result.runLocation,
    verdictOf(result),
    `${result.responseTime.toFixed(1)} ms`,
    result.failure
      ? `${result.failure.code}: ${shorten(result.failure.message, 60)}`
      : timesOf({ checkType, result }),
    `${lateMs} ms`,
  ];
}

/** The phases of a run; its first facts if it has no phases. */
function timesOf({ checkType, result }: ResultRow): string {
  const { phases = [], sections = [] } = summaryOf(checkType, result.apiCheckResult) ?? {};
  const taken = phases.filter(({ lengthMs }) => lengthMs > 0);
  if (taken.length > 0)
    return taken.map(({ name, lengthMs }) => `${name} ${durationText(lengthMs)}`).join(', ');
  const facts = sections[0]?.facts ?? [];
  return facts
    .flatMap(({ name, value }) => (value === null ? [] : [`${name} ${valueWords(value)}`]))
    .join(', ');
}

function shorten(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
