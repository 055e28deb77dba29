import type { Clock } from '@picket/lib/clock.ts';
import { toError } from '@picket/lib/errors.ts';
import type { ColumnSource, ResultColumns } from '@picket/service/results/columns/result-columns.ts';
import {
  type Frame,
  type FramePart,
  framePart,
  joinParts,
  partOf,
  timeColumn,
} from '@picket/service/results/columns/result-frame.ts';
import type { FedResults } from '@picket/service/results/fed-results.ts';
import type { ClickHouseServer } from './clickhouse-server.ts';
import { ResultTable } from './result-table.ts';

/** How long ClickHouse is not contacted after a failure, so that queries do not wait for it repeatedly. */
const passedOverMs = 15_000;

/** State of ClickHouse as queries found it. */
export interface ClickHouseReadState {
  /** Why the query failed; null if it succeeded. */
  readonly problem: string | null;
  /** The check whose rows are incomplete. */
  readonly lackingCheckId?: string;
}

/** Whether ClickHouse is available, according to the queries of one thread. */
export class ClickHouseState {
  readonly server: ClickHouseServer;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #passedOverUntilMs = Number.NEGATIVE_INFINITY;
  #news: ClickHouseReadState | undefined;

  constructor(server: ClickHouseServer, clock: Pick<Clock, 'monotonicMs'>) {
    this.server = server;
    this.#clock = clock;
  }

  get isAsked(): boolean {
    return this.#clock.monotonicMs() >= this.#passedOverUntilMs;
  }

  answered(): void {
    this.#news ??= { problem: null };
  }

  failed(reason: string): void {
    this.#passedOverUntilMs = this.#clock.monotonicMs() + passedOverMs;
    this.#news = { problem: reason };
  }

  /** It responds, but rows are missing. */
  lacks(checkId: string, reason: string): void {
    this.#news = { problem: reason, lackingCheckId: checkId };
  }

  /** State found since the last call; undefined if ClickHouse was not contacted. */
  takeReadState(): ClickHouseReadState | undefined {
    const news = this.#news;
    this.#news = undefined;
    return news;
  }
}

type Window = { readonly from: number; readonly to: number };

/**
 * Reads results from ClickHouse as far as they were fed, the others from the database. Fed results are also in the
 * database, so the result is the same without ClickHouse. The database knows the row count of each chunk: if rows are
 * lost (ClickHouse does not wait for its disk), it serves the query itself, and the check is fed again.
 */
export class FedColumns implements ColumnSource {
  readonly #columns: ResultColumns;
  readonly #fed: FedResults;
  readonly #state: ClickHouseState;

  constructor(columns: ResultColumns, fed: FedResults, state: ClickHouseState) {
    this.#columns = columns;
    this.#fed = fed;
    this.#state = state;
  }

  async read(checkId: string, window: Window, names: ReadonlySet<string>): Promise<Frame> {
    const fed = await this.#readFed(checkId, window, names);
    if (!fed) return this.#columns.read(checkId, window, names);
    const { part, rest } = fed;
    if (!rest) return joinParts([part], names);
    return joinParts([part, partOf(await this.#columns.read(checkId, rest, names))], names);
  }

  /**
   * Reads the fed part of a window, and returns the remaining window; null if ClickHouse has no part or is unavailable.
   */
  async #readFed(
    checkId: string,
    { from, to }: Window,
    names: ReadonlySet<string>,
  ): Promise<{ readonly part: FramePart; readonly rest: Window | null } | null> {
    if (!this.#state.isAsked) return null;
    const fed = await this.#fed.of(checkId);
    if (!fed || fed.until <= from) return null;
    const window = { from, to: Math.min(to, fed.until) };
    const chunks = await this.#columns.chunksIn(checkId, window);
    const [first, last] = [chunks[0], chunks.at(-1)];
    if (!first || !last) return null;
    try {
      const table = new ResultTable(this.#state.server, fed.feed);
      const whole = { from: first.from_ms, to: last.to_ms };
      const frame = await table.read(checkId, whole, new Set([...names, timeColumn]));
      const expected = chunks.reduce((sum, { row_count: count }) => sum + count, 0);
      if (frame.rowCount !== expected) {
        this.#state.lacks(checkId, `it has ${frame.rowCount} of ${expected} rows`);
        return null;
      }
      this.#state.answered();
      return { part: framePart(frame, window), rest: fed.until < to ? { from: fed.until, to } : null };
    } catch (thrown) {
      this.#state.failed(toError(thrown).message);
      return null;
    }
  }
}
