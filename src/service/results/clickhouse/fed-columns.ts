import type { Clock } from '../../../lib/clock.ts';
import { toError } from '../../../lib/errors.ts';
import type { ColumnSource, ResultColumns } from '../columns/result-columns.ts';
import { type Frame, type FramePart, joinParts, partOf } from '../columns/result-frame.ts';
import type { ClickHouseServer } from './clickhouse-server.ts';
import type { FedResults } from './feed-store.ts';
import { ResultTable } from './result-table.ts';

/** How long ClickHouse is not asked after it gave no answer: nobody waits for it again and again. */
const passedOverMs = 15_000;

/** Whether ClickHouse answers, as the questions of one thread have found. */
export class ClickHouseState {
  readonly server: ClickHouseServer;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #passedOverUntilMs = Number.NEGATIVE_INFINITY;
  #news: string | null | undefined;

  constructor(server: ClickHouseServer, clock: Pick<Clock, 'monotonicMs'>) {
    this.server = server;
    this.#clock = clock;
  }

  get isAsked(): boolean {
    return this.#clock.monotonicMs() >= this.#passedOverUntilMs;
  }

  answered(): void {
    this.#news ??= null;
  }

  failed(reason: string): void {
    this.#passedOverUntilMs = this.#clock.monotonicMs() + passedOverMs;
    this.#news = reason;
  }

  /** Since it was last asked for: why ClickHouse failed, null when it answered, undefined when it was not asked. */
  takeNews(): string | null | undefined {
    const news = this.#news;
    this.#news = undefined;
    return news;
  }
}

type Window = { readonly from: number; readonly to: number };

/**
 * Results from ClickHouse as far as they were fed, the others from the database. What was fed is also in the
 * database, so the answers are the same without ClickHouse.
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
    const { server } = this.#state;
    try {
      const part = await new ResultTable(server, fed.feed).read(
        checkId,
        { from, to: Math.min(to, fed.until) },
        names,
      );
      this.#state.answered();
      return { part, rest: fed.until < to ? { from: fed.until, to } : null };
    } catch (thrown) {
      this.#state.failed(toError(thrown).message);
      return null;
    }
  }
}
