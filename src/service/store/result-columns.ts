import type { Kysely } from 'kysely';
import type { Dialect } from './dialect.ts';
import {
  cutFrame,
  decodeFrame,
  encodeFrame,
  type Frame,
  frameOf,
  joinFrames,
  timeColumn,
} from './result-frame.ts';
import type { Tables } from './tables.ts';

/** Rows of one chunk: large enough that a month of a busy check is some hundred reads, small enough to build in a moment. */
const resultsPerChunk = 4096;
/** Results that are older than this do not change any more, but for those whose run is still on its way. */
const settledAfterMs = 15 * 60_000;
/** A chunk covers no more than that; results are read one by one until theirs is full or that long. */
const longestChunkMs = 24 * 3_600_000;

/**
 * Final results as columns: the story is in ADR 13. Results stay where they are; those that are settled are also *sealed*
 * into chunks, one after the other, without a gap: `[from_ms, to_ms)` of `created`. A chunk has a row in `result_chunks`
 * and one in `result_columns` for each of its columns. What was not sealed yet is read from the results themselves, so
 * an answer is the same before and after.
 */
export class ResultColumns {
  readonly #db: Kysely<Tables>;
  readonly #dialect: Dialect;

  constructor(db: Kysely<Tables>, dialect: Dialect) {
    this.#db = db;
    this.#dialect = dialect;
  }

  /** Where the sealed results of a check end; 0 before the first chunk. */
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

  /** The end of the chunk that could be sealed next, or null. Cheap: it reads an index only. */
  async nextSeal(checkId: string, now: number): Promise<{ since: number; until: number } | null> {
    const since = await this.sealedUntil(checkId);
    const oldest = await this.#createdAt(checkId, since, 0);
    if (oldest === null) return null;
    const settled = Math.min(now - settledAfterMs, await this.#oldestOnItsWay(checkId));
    const full = await this.#createdAt(checkId, since, resultsPerChunk);
    // Results of one instant are never torn apart.
    const border = full === oldest ? oldest + 1 : full;
    const until = Math.min(border ?? Number.MAX_SAFE_INTEGER, oldest + longestChunkMs);
    return until <= settled ? { since, until } : null;
  }

  async #createdAt(checkId: string, since: number, offset: number): Promise<number | null> {
    const row = await this.#db
      .selectFrom('results')
      .select('created')
      .where('check_id', '=', checkId)
      .where('result_type', '=', 'FINAL')
      .where('created', '>=', since)
      .orderBy('created')
      .limit(1)
      .offset(offset)
      .executeTakeFirst();
    return row?.created ?? null;
  }

  /** An attempt whose run is on its way may still become a final result, at the time it came. */
  async #oldestOnItsWay(checkId: string): Promise<number> {
    const row = await this.#db
      .selectFrom('runs')
      .innerJoin('results', 'results.id', 'runs.last_result_id')
      .select((eb) => eb.fn.min('results.created').as('at'))
      .where('runs.check_id', '=', checkId)
      .where('runs.state', 'in', ['queued', 'leased'])
      .executeTakeFirst();
    return row?.at ?? Number.MAX_SAFE_INTEGER;
  }

  /** Seals one chunk, within a transaction. Returns false when there is none to seal, or the check is gone. */
  async sealNext(checkId: string, now: number): Promise<boolean> {
    // Locked, so that a check that is deleted meanwhile takes the new chunk with it.
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
      .select(['created', 'run_location', 'has_failures', 'attempts', 'measured'])
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
    // Asked first: what is sealed from here on is in neither part twice.
    const sealedUntil = await this.sealedUntil(checkId);
    const chunks = await this.#db
      .selectFrom('result_chunks')
      .select(['from_ms', 'to_ms', 'row_count'])
      .where('check_id', '=', checkId)
      .where('from_ms', '<', Math.min(to, sealedUntil))
      .where('to_ms', '>', from)
      .orderBy('from_ms')
      .execute();
    const columns = await this.#columns(checkId, chunks, names);
    const frames: Frame[] = [];
    for (const chunk of chunks) {
      const frame = decodeFrame(chunk.row_count, columns.get(chunk.from_ms) ?? new Map());
      const isWhole = chunk.from_ms >= from && chunk.to_ms <= to;
      frames.push(isWhole ? frame : await this.#cut(checkId, chunk, frame, window));
    }
    if (to > sealedUntil) {
      frames.push(frameOf(await this.#measuredRows(checkId, Math.max(from, sealedUntil), to)));
    }
    return joinFrames(frames, names);
  }

  async #columns(
    checkId: string,
    chunks: readonly { readonly from_ms: number }[],
    names: Iterable<string>,
  ): Promise<Map<number, Map<string, Uint8Array>>> {
    const byChunk = new Map(chunks.map(({ from_ms }) => [from_ms, new Map<string, Uint8Array>()]));
    const [first, last] = [chunks[0], chunks.at(-1)];
    if (!first || !last) return byChunk;
    for (const name of names) {
      const rows = await this.#db
        .selectFrom('result_columns')
        .select(['from_ms', 'content'])
        .where('check_id', '=', checkId)
        .where('name', '=', name)
        .where('from_ms', '>=', first.from_ms)
        .where('from_ms', '<=', last.from_ms)
        .execute();
      for (const { from_ms, content } of rows) byChunk.get(from_ms)?.set(name, content);
    }
    return byChunk;
  }

  /** The part of a chunk that lies in the window; its times are read for that where they were not asked for. */
  async #cut(
    checkId: string,
    chunk: { readonly from_ms: number; readonly row_count: number },
    frame: Frame,
    window: { from: number; to: number },
  ): Promise<Frame> {
    if (frame.numbers.has(timeColumn)) return cutFrame(frame, window.from, window.to);
    const columns = await this.#columns(checkId, [chunk], [timeColumn]);
    const times = decodeFrame(chunk.row_count, columns.get(chunk.from_ms) ?? new Map()).numbers;
    return cutFrame({ ...frame, numbers: new Map([...frame.numbers, ...times]) }, window.from, window.to);
  }

  /** Removes up to `limit` chunks of a check that end before an instant. Returns how many there were. */
  async prune(checkId: string, before: number, limit: number): Promise<number> {
    const chunks = await this.#db
      .selectFrom('result_chunks')
      .select('from_ms')
      .where('check_id', '=', checkId)
      .where('to_ms', '<=', before)
      .orderBy('from_ms')
      .limit(limit)
      .execute();
    const last = chunks.at(-1);
    if (!last) return 0;
    for (const table of ['result_columns', 'result_chunks'] as const) {
      await this.#db
        .deleteFrom(table)
        .where('check_id', '=', checkId)
        .where('from_ms', '<=', last.from_ms)
        .execute();
    }
    return chunks.length;
  }
}
