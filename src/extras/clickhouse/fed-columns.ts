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

/** How long ClickHouse is not asked after it gave no answer: nobody waits for it again and again. */
const passedOverMs = 15_000;

/** What questions have found out about ClickHouse. */
export interface ClickHouseReadState {
  /** Why it gave no answer; null when it gave one. */
  readonly problem: string | null;
  /** The check of which it lacks rows. */
  readonly lackingCheckId?: string;
}

/** Whether ClickHouse answers, as the questions of one thread have found. */
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

  /** It answers, but not all that was fed. */
  lacks(checkId: string, reason: string): void {
    this.#news = { problem: reason, lackingCheckId: checkId };
  }

  /** What was found out since it was last asked for; undefined when ClickHouse was not asked. */
  takeReadState(): ClickHouseReadState | undefined {
    const news = this.#news;
    this.#news = undefined;
    return news;
  }
}

type Window = { readonly from: number; readonly to: number };

/**
 * Results from ClickHouse as far as they were fed, the others from the database. What was fed is also in the
 * database, so the answers are the same without ClickHouse. The database knows how many rows each chunk has: where
 * some are lost (ClickHouse does not wait for its disk), it answers itself, and the check is fed again.
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

  /** What ClickHouse has of a window, and what is left of the window; null when it has nothing or is away. */
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
