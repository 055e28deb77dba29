import { LruMap } from '@picket/lib/lru.ts';
import { isUnfinished } from '@picket/platform/store/days/ended-day.ts';
import type { Dialect } from '@picket/platform/store/engine/dialect.ts';
import type { Tables } from '@picket/platform/store/tables.ts';
import type { Kysely } from 'kysely';
import type { ResultChunkRow } from '../tables.ts';
import { oldestResults } from './oldest-results.ts';
import {
  encodedPart,
  encodeFrame,
  type Frame,
  type FramePart,
  frameOf,
  joinParts,
  partOf,
  rowsBetween,
  timeColumn,
} from './result-frame.ts';

/**
 * Rows per chunk: large enough that a month of a busy check takes a few hundred reads, small enough to build quickly.
 */
const resultsPerChunk = 4096;
/** Results older than this no longer change, except those whose run is unfinished. */
const settledAfterMs = 15 * 60_000;
/** Maximum period of a chunk; until a chunk is full or that long, its results are read individually. */
const longestChunkMs = 24 * 3_600_000;

/** Bytes of one column, by the start of the chunk. */
type EncodedColumns = ReadonlyMap<number, Uint8Array | null>;
type ChunkKey = Pick<ResultChunkRow, 'check_id' | 'from_ms'>;
type Seal = { readonly since: number; readonly until: number };
type ChunkBounds = Pick<ResultChunkRow, 'from_ms' | 'to_ms' | 'row_count'>;

/** Overhead of an entry in addition to its content. */
const entryBytes = 200;

/** Columns of sealed chunks by key; null if not stored because it has only default values. */
type ColumnCache = LruMap<string, Uint8Array | null>;

/**
 * A cache of encoded columns, which never change, limited by bytes. The same months are requested repeatedly: by a
 * dashboard, or by an API client for another metric or page.
 */
export function columnCache(maxBytes: number): ColumnCache {
  return new LruMap(maxBytes, (column, key) => entryBytes + key.length + (column?.byteLength ?? 0));
}

/** Source for questions about many results of a check: columns of the database, or of ClickHouse. */
export type ColumnSource = Pick<ResultColumns, 'read'>;

/**
 * Final results as columns; see ADR 15. Results stay in place; settled results are also *sealed* into consecutive
 * chunks without gaps: `[from_ms, to_ms)` of `created`. A chunk has a row in `result_chunks` and one in
 * `result_columns` for each of its columns. Unsealed results are read from the results themselves, so an answer is the
 * same before and after sealing.
 */
export class ResultColumns {
  readonly #db: Kysely<Tables>;
  readonly #dialect: Dialect;
  readonly #cache: ColumnCache;

  /** @param cache keeps columns that were read; by default columns are not cached beyond a few reads. */
  constructor(db: Kysely<Tables>, dialect: Dialect, cache = columnCache(0)) {
    this.#db = db;
    this.#cache = cache;
    this.#dialect = dialect;
  }

  /** End of the sealed results of a check; 0 before the first chunk. */
  async sealedUntil(checkId: string): Promise<number> {
    const chunk = await this.#db
      .selectFrom('result_chunks')
      .select('to_ms')
      .where('check_id', '=', checkId)
      .orderBy('from_ms', 'desc')
      .limit(1)
      .executeTakeFirst();
    return chunk?.to_ms ?? 0;
  }

  /** End of the sealed results of the given checks; omits those without any. */
  async sealedUntilOf(checkIds: readonly string[]): Promise<Map<string, number>> {
    if (checkIds.length === 0) return new Map();
    const rows = await this.#db
      .selectFrom('checks')
      .select((eb) => [
        'id',
        eb
          .selectFrom('result_chunks')
          .select('to_ms')
          .whereRef('result_chunks.check_id', '=', 'checks.id')
          .orderBy('from_ms', 'desc')
          .limit(1)
          .as('until'),
      ])
      .where(this.#dialect.inList('id', checkIds))
      .execute();
    return new Map(rows.flatMap(({ id, until }) => (until === null ? [] : [[id, until]])));
  }

  /** Time of the oldest unsealed result that could be sealed, per check; omits checks without one. */
  async oldestUnsealed(checkIds: readonly string[], now: number): Promise<Map<string, number>> {
    if (checkIds.length === 0) return new Map();
    const sealed = await this.sealedUntilOf(checkIds);
    const since = checkIds.map((id) => [id, sealed.get(id) ?? 0] as const);
    return oldestResults(this.#db, this.#dialect, since, now - settledAfterMs);
  }

  /**
   * Those of the checks with a chunk that could be sealed.
   *
   * @param oldest time of the oldest unsealed result of each.
   */
  async sealable(oldest: ReadonlyMap<string, number>, now: number): Promise<string[]> {
    const latest = now - settledAfterMs;
    const full = await oldestResults(this.#db, this.#dialect, [...oldest], latest, resultsPerChunk);
    return [...oldest].flatMap(([id, at]) => (full.has(id) || at + longestChunkMs <= latest ? [id] : []));
  }

  /** Bounds of the chunk that could be sealed next, or null. Cheap: reads only an index. */
  async nextSeal(checkId: string, now: number): Promise<Seal | null> {
    const since = await this.sealedUntil(checkId);
    const latest = now - settledAfterMs;
    const oldest = await this.#createdAt(checkId, { since, latest }, 0);
    if (oldest === null) return null;
    const settled = Math.min(latest, await this.#oldestOnItsWay(checkId));
    const end = oldest + longestChunkMs;
    const inChunk = { since: oldest, latest: Math.min(latest, end) };
    const full = await this.#createdAt(checkId, inChunk, resultsPerChunk);
    // Results with the same timestamp are never split.
    const until = full === oldest ? oldest + 1 : Math.min(full ?? end, end);
    return until <= settled ? { since, until } : null;
  }

  /** Creation time of the final result at an offset from an instant; null if it is not settled. */
  async #createdAt(
    checkId: string,
    { since, latest }: { readonly since: number; readonly latest: number },
    offset: number,
  ): Promise<number | null> {
    const row = await this.#db
      .selectFrom('results')
      .select('created')
      .where('check_id', '=', checkId)
      .where('result_type', '=', 'FINAL')
      .where('created', '>=', since)
      .where('created', '<=', latest)
      .orderBy('created')
      .limit(1)
      .offset(offset)
      .executeTakeFirst();
    return row?.created ?? null;
  }

  /** The last attempt of an unfinished run may still become a final result, with its original timestamp. */
  async #oldestOnItsWay(checkId: string): Promise<number> {
    const runs = await this.#db
      .selectFrom('runs')
      .select('last_result_id')
      .where('runs.check_id', '=', checkId)
      .where(isUnfinished)
      .where('runs.ended', 'is', null)
      .where('last_result_id', 'is not', null)
      .execute();
    const ids = runs.flatMap(({ last_result_id: id }) => (id === null ? [] : [id]));
    if (ids.length === 0) return Number.MAX_SAFE_INTEGER;
    const row = await this.#db
      .selectFrom('results')
      .select((eb) => eb.fn.min('created').as('at'))
      .where(this.#dialect.inList('id', ids))
      .executeTakeFirst();
    return row?.at ?? Number.MAX_SAFE_INTEGER;
  }

  /** Seals one chunk, within a transaction. Returns false if there is nothing to seal, or if the check is deleted. */
  async sealNext(checkId: string, now: number): Promise<boolean> {
    // Locked, so that a concurrent deletion of the check also deletes the new chunk.
    const check = await this.#db
      .selectFrom('checks')
      .select('id')
      .where('id', '=', checkId)
      .modifyEnd(this.#dialect.forUpdate)
      .executeTakeFirst();
    const seal = check && (await this.nextSeal(checkId, now));
    if (!seal) return false;
    const rows = await this.#measuredRows(checkId, seal.since, seal.until);
    const [first] = rows;
    if (!first) return false;
    const frame = frameOf(rows);
    const fromMs = first.created;
    await this.#db
      .insertInto('result_chunks')
      .values({ check_id: checkId, from_ms: fromMs, to_ms: seal.until, row_count: frame.rowCount })
      .execute();
    for (const [name, content] of encodeFrame(frame)) {
      await this.#db
        .insertInto('result_columns')
        .values({ check_id: checkId, name, from_ms: fromMs, content })
        .execute();
    }
    return true;
  }

  async #measuredRows(checkId: string, from: number, to: number) {
    return this.#db
      .selectFrom('results')
      .select([
        'created',
        'run_location',
        'has_failures',
        'has_errors',
        'attempts',
        'response_time',
        'code',
        'measured',
      ])
      .where('check_id', '=', checkId)
      .where('result_type', '=', 'FINAL')
      .where('created', '>=', from)
      .where('created', '<', to)
      .orderBy('created')
      .orderBy('id')
      .execute();
  }

  /** The named columns of the final results created in [from, to), sealed or not. */
  async read(
    checkId: string,
    window: { from: number; to: number },
    names: ReadonlySet<string>,
  ): Promise<Frame> {
    const { from, to } = window;
    const { parts, sealedUntil } = await this.#sealedParts(checkId, window, names);
    if (to > sealedUntil) {
      parts.push(partOf(frameOf(await this.#measuredRows(checkId, Math.max(from, sealedUntil), to))));
    }
    return joinParts(parts, names);
  }

  /** Same for sealed results only, and where they end. */
  async readSealed(
    checkId: string,
    window: { from: number; to: number },
    names: ReadonlySet<string>,
  ): Promise<{ readonly frame: Frame; readonly sealedUntil: number }> {
    const { parts, sealedUntil } = await this.#sealedParts(checkId, window, names);
    return { frame: joinParts(parts, names), sealedUntil };
  }

  /** The named columns of the first chunk that begins at or after an instant, and where it ends. */
  async nextSealed(
    checkId: string,
    since: number,
    names: readonly string[],
  ): Promise<{ readonly frame: Frame; readonly until: number } | null> {
    const chunk = await this.#db
      .selectFrom('result_chunks')
      .select(['from_ms', 'to_ms', 'row_count'])
      .where('check_id', '=', checkId)
      .where('from_ms', '>=', since)
      .orderBy('from_ms')
      .limit(1)
      .executeTakeFirst();
    if (!chunk) return null;
    const rows = await this.#db
      .selectFrom('result_columns')
      .select(['name', 'content'])
      .where('check_id', '=', checkId)
      .where(this.#dialect.inList('name', names))
      .where('from_ms', '=', chunk.from_ms)
      .execute();
    const columns = new Map(rows.map(({ name, content }) => [name, content]));
    const part = encodedPart(columns, { from: 0, to: chunk.row_count });
    return { frame: joinParts([part], columns.keys()), until: chunk.to_ms };
  }

  /** Bounds of the chunks of a check that overlap a window. */
  async chunksIn(checkId: string, { from, to }: { from: number; to: number }): Promise<ChunkBounds[]> {
    return this.#db
      .selectFrom('result_chunks')
      .select(['from_ms', 'to_ms', 'row_count'])
      .where('check_id', '=', checkId)
      .where('from_ms', '<', to)
      .where('to_ms', '>', from)
      .orderBy('from_ms')
      .execute();
  }

  async #sealedParts(
    checkId: string,
    window: { from: number; to: number },
    names: ReadonlySet<string>,
  ): Promise<{ readonly parts: FramePart[]; readonly sealedUntil: number }> {
    const { from, to } = window;
    // Read first, so that results sealed from now on are in neither part twice.
    const sealedUntil = await this.sealedUntil(checkId);
    if (sealedUntil <= from) return { parts: [], sealedUntil };
    const chunks = await this.chunksIn(checkId, { from, to: Math.min(to, sealedUntil) });
    const isCut = (chunk: ChunkBounds) => chunk.from_ms < from || chunk.to_ms > to;
    const columns = new Map<string, EncodedColumns>();
    for (const name of names) columns.set(name, await this.#columnsOf(checkId, chunks, name));
    const times =
      columns.get(timeColumn) ?? (await this.#columnsOf(checkId, chunks.filter(isCut), timeColumn));
    const parts = chunks.map((chunk): FramePart => {
      const encodedTimes = times.get(chunk.from_ms);
      const rows =
        isCut(chunk) && encodedTimes
          ? rowsBetween(encodedTimes, chunk.row_count, window)
          : { from: 0, to: chunk.row_count };
      return encodedPart(columnsOfChunk(chunk, columns), rows);
    });
    return { parts, sealedUntil };
  }

  /** One column of the given chunks, by the start of the chunk; missing entries are read in one statement. */
  async #columnsOf(checkId: string, chunks: readonly ChunkBounds[], name: string): Promise<EncodedColumns> {
    const columns = new Map<number, Uint8Array | null>();
    const missing: number[] = [];
    for (const { from_ms } of chunks) {
      const column = this.#cache.get(cacheKey(checkId, from_ms, name));
      if (column === undefined) missing.push(from_ms);
      else columns.set(from_ms, column);
    }
    const [first, last] = [missing[0], missing.at(-1)];
    if (first === undefined || last === undefined) return columns;
    const rows = await this.#db
      .selectFrom('result_columns')
      .select(['from_ms', 'content'])
      .where('check_id', '=', checkId)
      .where('name', '=', name)
      .where('from_ms', '>=', first)
      .where('from_ms', '<=', last)
      .execute();
    const stored = new Map(rows.map(({ from_ms, content }) => [from_ms, content]));
    for (const fromMs of missing) {
      const column = stored.get(fromMs) ?? null;
      columns.set(fromMs, column);
      this.#cache.set(cacheKey(checkId, fromMs, name), column);
    }
    return columns;
  }

  /** Up to `limit` chunks of the given checks that end before an instant, the oldest of each first. */
  async chunksBefore(checkIds: readonly string[], before: number, limit: number): Promise<ChunkKey[]> {
    if (checkIds.length === 0) return [];
    return this.#db
      .selectFrom('result_chunks')
      .select(['check_id', 'from_ms'])
      .where(this.#dialect.inList('check_id', checkIds))
      .where('from_ms', '<', before)
      .where('to_ms', '<=', before)
      .orderBy('check_id')
      .orderBy('from_ms')
      .limit(limit)
      .execute();
  }

  /** Deletes chunks that are the oldest of their checks, within a transaction. */
  async remove(chunks: readonly ChunkKey[]): Promise<void> {
    const lasts = new Map(chunks.map(({ check_id: id, from_ms: fromMs }) => [id, fromMs]));
    for (const [checkId, last] of lasts) {
      for (const table of ['result_columns', 'result_chunks'] as const) {
        await this.#db
          .deleteFrom(table)
          .where('check_id', '=', checkId)
          .where('from_ms', '<=', last)
          .execute();
      }
    }
  }
}

/** Columns of one chunk by name; columns with only default values are not stored. */
function columnsOfChunk(
  chunk: ChunkBounds,
  columns: ReadonlyMap<string, EncodedColumns>,
): Map<string, Uint8Array> {
  const own = new Map<string, Uint8Array>();
  for (const [name, byChunk] of columns) {
    const bytes = byChunk.get(chunk.from_ms);
    if (bytes) own.set(name, bytes);
  }
  return own;
}

function cacheKey(checkId: string, fromMs: number, name: string): string {
  return `${checkId} ${fromMs} ${name}`;
}
