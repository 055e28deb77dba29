import { checkTypes } from '@picket/checks/index.ts';
import {
  attemptsColumn,
  dimensionColumn,
  type Frame,
  type FramePart,
  joinParts,
  locationColumn,
  ordinalColumn,
  partOf,
  responseColumn,
  statusColumn,
  textColumns,
  timeColumn,
} from '@picket/service/results/columns/result-frame.ts';
import { type ClickHouseServer, identifier, literal } from './clickhouse-server.ts';
import { decodeBlocks, encodeBlock, type NativeBlock, type NativeColumn } from './native-format.ts';

/** Names of frame columns in the table; metrics keep their names. */
const namesInTable: Readonly<Record<string, string>> = {
  [ordinalColumn]: 'item',
  [locationColumn]: 'location',
  [statusColumn]: 'status',
  [attemptsColumn]: 'attempts',
  [responseColumn]: 'response_ms',
  [dimensionColumn]: 'dimension',
};

const statuses = ['success', 'failure', 'error'] as const;
const statusType = `Enum8(${statuses.map((name, place) => `'${name}' = ${place + 1}`).join(', ')})` as const;
const dayMs = 86_400_000;

/**
 * The low bits of a place distinguish the rows of one instant, so that a place identifies one row of a check, and is
 * the same whenever its chunk is inserted.
 */
const placesPerMs = 2 ** 20;
/** A place has two halves of 32 bits; the upper one counts periods of this many milliseconds. */
const msPerUpper = 2 ** 32 / placesPerMs;

/** Columns of every table; a test proves that no metric has one of these names. */
export const fixedColumns: readonly (readonly [name: string, definition: string])[] = [
  ['check_id', 'String'],
  ['place', 'UInt64'],
  ['created', `DateTime alias toDateTime(intDiv(place, ${placesPerMs * 1000}))`],
  ['day', 'Date'],
  ['item', 'UInt32'],
  ['location', 'String'],
  ['status', statusType],
  ['attempts', 'Float64'],
  ['response_ms', 'Float64 default nan'],
  ['dimension', 'String'],
];

/** Names of all metrics that this build knows. */
export function metricNames(): string[] {
  return [...new Set(checkTypes.flatMap(({ analytics }) => analytics.metrics.map(({ name }) => name)))];
}

/** Sealed results of one check that are to be inserted. */
export interface SealedChunk {
  readonly checkId: string;
  readonly frame: Frame;
}

/**
 * The table of one feed. A row is one item of one result, as in frames. Chunks never change, and the place of a row
 * follows from its chunk, so a repeated insert creates equal rows with one key: ClickHouse merges them eventually, and
 * `read` ignores duplicates until then.
 */
export class ResultTable {
  readonly #server: ClickHouseServer;
  readonly #name: string;

  constructor(server: ClickHouseServer, feed: string) {
    this.#server = server;
    this.#name = `picket_results_${feed}`;
  }

  get name(): string {
    return this.#name;
  }

  /** Its columns; empty if the table does not exist. */
  async columns(): Promise<Set<string>> {
    const rows = await this.#server.rows(`select name from system.columns where ${this.#isThis()}`);
    return new Set(rows.map(([name = '']) => name));
  }

  async create(): Promise<void> {
    const metrics = metricNames().map((name) => [identifier(name), 'Float64 default nan']);
    const columns = [...fixedColumns, ...metrics].map((parts) => parts.join(' '));
    await this.#server.command(
      `create table ${identifier(this.#name)} (${columns.join(', ')}) engine = ReplacingMergeTree
       partition by toYYYYMMDD(day) order by (check_id, place)`,
    );
  }

  /** Adds columns for metrics. */
  async add(metrics: readonly string[]): Promise<void> {
    const added = metrics.map((name) => `add column ${identifier(name)} Float64 default nan`);
    await this.#server.command(`alter table ${identifier(this.#name)} ${added.join(', ')}`);
  }

  async insert(chunks: readonly SealedChunk[]): Promise<void> {
    const columns = columnsOf(chunks);
    const [first] = columns;
    if (!first || !('texts' in first)) return;
    const names = columns.map(({ name }) => name);
    await this.#server.insert(this.#name, names, encodeBlock(columns, first.texts.index.length));
  }

  /** Reads the named columns of a check's results created in [from, to). */
  async read(
    checkId: string,
    { from, to }: { readonly from: number; readonly to: number },
    names: ReadonlySet<string>,
  ): Promise<Frame> {
    const asked = ['place', ...[...names].filter((name) => name !== timeColumn).map(nameInTable)];
    const blocks = await this.#server.query(
      `select ${asked.map(identifier).join(', ')} from ${identifier(this.#name)}
       where check_id = ${literal(checkId)} and place >= ${placeAt(from)} and place < ${placeAt(to)}
       format Native`,
    );
    return orderedFrame(decodeBlocks(blocks, asked), names);
  }

  /** Removes the rows of checks; the server does so asynchronously. */
  async removeChecks(checkIds: readonly string[]): Promise<void> {
    const list = checkIds.map(literal).join(', ');
    await this.#server.command(`alter table ${identifier(this.#name)} delete where check_id in (${list})`);
  }

  /**
   * Removes rows of checks from an instant of each on; returns whether there were any. The server works asynchronously.
   */
  async removeSince(cursors: readonly (readonly [checkId: string, since: number])[]): Promise<boolean> {
    if (cursors.length === 0) return false;
    const ahead = cursors
      .map(([id, since]) => `(check_id = ${literal(id)} and place >= ${placeAt(since)})`)
      .join(' or ');
    const table = identifier(this.#name);
    const rows = await this.#server.rows(`select check_id from ${table} where ${ahead} limit 1`);
    if (rows.length === 0) return false;
    await this.#server.command(`alter table ${table} delete where ${ahead}`);
    return true;
  }

  /** Whether removals are still pending on the server. */
  async isRemoving(): Promise<boolean> {
    const rows = await this.#server.rows(
      `select 1 from system.mutations where ${this.#isThis()} and not is_done limit 1`,
    );
    return rows.length > 0;
  }

  /** Removes whole days that ended a day before an instant, so that no chunk loses rows that the database still has. */
  async removeBefore(before: number): Promise<void> {
    const rows = await this.#server.rows(
      `select distinct partition from system.parts where active and ${this.#isThis()}`,
    );
    const firstKept = new Date(Math.floor(before / dayMs - 1) * dayMs).toISOString().slice(0, 10);
    for (const [partition = ''] of rows) {
      if (!/^\d{8}$/.test(partition) || partition >= firstKept.replaceAll('-', '')) continue;
      await this.#server.command(`alter table ${identifier(this.#name)} drop partition ${partition}`);
    }
  }

  #isThis(): string {
    return `database = ${literal(this.#server.database)} and table = ${literal(this.#name)}`;
  }
}

function nameInTable(name: string): string {
  return namesInTable[name] ?? name;
}

function placeAt(epochMs: number): bigint {
  return BigInt(Math.max(0, Math.ceil(epochMs))) * BigInt(placesPerMs);
}

/** The rows of some chunks as columns of the table. */
function columnsOf(chunks: readonly SealedChunk[]): NativeColumn[] {
  const numberNames = new Set(chunks.flatMap(({ frame }) => [...frame.numbers.keys()]));
  const frame = joinParts(
    chunks.map(({ frame }) => partOf(frame)),
    [...numberNames, ...textColumns],
  );
  const { rowCount } = frame;
  const checks = new Uint16Array(rowCount);
  const places = new Uint32Array(2 * rowCount);
  const days = new Uint16Array(rowCount);
  const times = frame.numbers.get(timeColumn) ?? new Float64Array(rowCount);
  let row = 0;
  chunks.forEach(({ frame: { rowCount: count } }, chunk) => {
    let atInstant = 0;
    for (const end = row + count; row < end; row += 1) {
      const time = times[row] ?? 0;
      atInstant = row > end - count && times[row - 1] === time ? atInstant + 1 : 0;
      checks[row] = chunk;
      places[2 * row] = (time % msPerUpper) * placesPerMs + atInstant;
      places[2 * row + 1] = Math.floor(time / msPerUpper);
      days[row] = Math.floor(time / dayMs);
    }
  });
  const columns: NativeColumn[] = [
    {
      name: 'check_id',
      type: 'String',
      texts: { texts: chunks.map(({ checkId }) => checkId), index: checks },
    },
    { name: 'place', type: 'UInt64', values: places },
    { name: 'day', type: 'Date', values: days },
  ];
  for (const [name, values] of frame.numbers) {
    if (name === ordinalColumn)
      columns.push({ name: 'item', type: 'UInt32', values: new Uint32Array(values) });
    else if (name !== timeColumn) columns.push({ name: nameInTable(name), type: 'Float64', values });
  }
  for (const [name, texts] of frame.texts) {
    if (name !== statusColumn) columns.push({ name: nameInTable(name), type: 'String', texts });
    else {
      const codes = texts.texts.map((text) => (statuses as readonly string[]).indexOf(text) + 1);
      const values = Int8Array.from(texts.index, (place) => codes[place] ?? 0);
      columns.push({ name: 'status', type: statusType, values });
    }
  }
  return columns;
}

/** Combines blocks, which arrive in any order; each is sorted by key. */
function orderedFrame(blocks: readonly NativeBlock[], names: ReadonlySet<string>): Frame {
  const filled = blocks
    .filter(({ rowCount }) => rowCount > 0)
    .map((block) => ({ block, places: placesOf(block) }))
    .sort((left, right) => comparePlaces(left.places, 0, right.places, 0));
  const frame = joinParts(
    filled.map(({ block, places }) => blockPart(block, places)),
    names,
  );
  const places = new Uint32Array(2 * frame.rowCount);
  let start = 0;
  for (const { places: own } of filled) {
    places.set(own, start);
    start += own.length;
  }
  return inOrder(frame, places);
}

function placesOf({ numbers }: NativeBlock): Uint32Array {
  // A copy, because the memory of a typed array must be aligned.
  return new Uint32Array(new Uint8Array(numbers.get('place') ?? []).buffer);
}

function comparePlaces(left: Uint32Array, leftRow: number, right: Uint32Array, rightRow: number): number {
  const upper = (left[2 * leftRow + 1] ?? 0) - (right[2 * rightRow + 1] ?? 0);
  return upper === 0 ? (left[2 * leftRow] ?? 0) - (right[2 * rightRow] ?? 0) : upper;
}

function blockPart({ rowCount, numbers, texts }: NativeBlock, places: Uint32Array): FramePart {
  const items = numbers.get('item');
  const bytesOf = (name: string) => numbers.get(nameInTable(name));
  return {
    rowCount,
    // Most results have one item, and then no row needs an item number.
    hasNumbers: (name) =>
      name === timeColumn ||
      (name === ordinalColumn ? items?.some((byte) => byte !== 0) === true : bytesOf(name) !== undefined),
    numbersInto: (name, target, at) => {
      if (name === timeColumn) {
        for (let row = 0; row < rowCount; row += 1) {
          target[at + row] =
            (places[2 * row + 1] ?? 0) * msPerUpper + Math.floor((places[2 * row] ?? 0) / placesPerMs);
        }
      } else if (name === ordinalColumn) {
        if (items) target.set(new Uint32Array(new Uint8Array(items).buffer), at);
      } else {
        const bytes = bytesOf(name);
        if (bytes) new Uint8Array(target.buffer, target.byteOffset + at * 8, bytes.length).set(bytes);
      }
    },
    textsOf: (name) => {
      if (name !== statusColumn) return texts.get(nameInTable(name));
      const codes = numbers.get('status');
      return codes && { texts: statuses, index: Uint16Array.from(codes, (code) => code - 1) };
    },
  };
}

/** The rows of a frame sorted by place, without duplicates. */
function inOrder(frame: Frame, places: Uint32Array): Frame {
  const { rowCount } = frame;
  let isOrdered = true;
  for (let row = 1; row < rowCount && isOrdered; row += 1) {
    isOrdered = comparePlaces(places, row - 1, places, row) < 0;
  }
  if (isOrdered) return frame;
  const sorted = Uint32Array.from({ length: rowCount }, (_none, row) => row).sort((left, right) =>
    comparePlaces(places, left, places, right),
  );
  const rows = sorted.filter(
    (row, at) => at === 0 || comparePlaces(places, sorted[at - 1] ?? 0, places, row) !== 0,
  );
  const picked = <T extends Float64Array | Uint16Array>(source: T, target: T): T => {
    rows.forEach((row, at) => {
      target[at] = source[row] ?? 0;
    });
    return target;
  };
  return {
    rowCount: rows.length,
    numbers: new Map(
      [...frame.numbers].map(([name, column]) => [name, picked(column, new Float64Array(rows.length))]),
    ),
    texts: new Map(
      [...frame.texts].map(([name, { texts, index }]) => [
        name,
        { texts, index: picked(index, new Uint16Array(rows.length)) },
      ]),
    ),
  };
}
