import { type ModelAccess, type ModelLimits, useNames } from './access.ts';
import { ModelError } from './message.ts';

/** Use of a model. */
export interface ModelSpending {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly waitedMs: number;
  /** Whether some tokens are estimates because the provider did not report them. */
  readonly isEstimated: boolean;
}

const nothing: ModelSpending = { calls: 0, inputTokens: 0, outputTokens: 0, waitedMs: 0, isEstimated: false };
const dayMs = 86_400_000;

/** The process's use of its model today (UTC), shared by all its runs or analyses. */
export class DaySpending {
  readonly #wallMs: () => number;
  #day = -1;
  #spent = nothing;

  constructor(wallMs: () => number) {
    this.#wallMs = wallMs;
  }

  get spent(): ModelSpending {
    const day = Math.floor(this.#wallMs() / dayMs);
    if (day !== this.#day) {
      this.#day = day;
      this.#spent = nothing;
    }
    return this.#spent;
  }

  add(spent: ModelSpending): void {
    this.#spent = sum(this.spent, spent);
  }
}

/** Use of one run or analysis, and its remaining budget. */
export class RunSpending {
  readonly #access: ModelAccess;
  readonly #day: DaySpending;
  #spent = nothing;

  constructor(access: ModelAccess, day: DaySpending) {
    this.#access = access;
    this.#day = day;
  }

  get spent(): ModelSpending {
    return this.#spent;
  }

  /** In the currency of the prices; null without prices. */
  get cost(): number | null {
    const { price } = this.#access;
    return price.input === 0 && price.output === 0 ? null : costOf(this.#spent, price);
  }

  add(spent: ModelSpending): void {
    this.#spent = sum(this.#spent, spent);
    this.#day.add(spent);
  }

  /**
   * Returns how long to wait for a response at most, in milliseconds.
   *
   * @throws ModelError MODEL_LIMIT_EXCEEDED if a limit is exhausted.
   */
  remainingMs(): number {
    const { perRun, perDay, use } = this.#access;
    const ofRun = this.#remaining(this.#spent, perRun, use, `MODEL_${useNames[use]}`);
    const ofDay = this.#remaining(this.#day.spent, perDay, 'day', 'MODEL_DAY');
    return Math.min(ofRun, ofDay);
  }

  #remaining(spent: ModelSpending, limits: ModelLimits, what: string, setting: string): number {
    const used = (amount: string, name: string) =>
      new ModelError(
        'MODEL_LIMIT_EXCEEDED',
        `The model is no longer used: this ${what} has used up its ${amount} (${setting}_${name}).`,
      );
    if (spent.inputTokens + spent.outputTokens >= limits.tokens)
      throw used(`${limits.tokens} tokens`, 'TOKENS');
    const leftMs = limits.seconds * 1000 - spent.waitedMs;
    if (leftMs <= 0) throw used(`${limits.seconds} seconds`, 'SECONDS');
    const { cost } = limits;
    if (cost !== undefined && costOf(spent, this.#access.price) >= cost)
      throw used(`cost of ${cost}`, 'COST');
    return leftMs;
  }
}

function sum(left: ModelSpending, right: ModelSpending): ModelSpending {
  return {
    calls: left.calls + right.calls,
    inputTokens: left.inputTokens + right.inputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
    waitedMs: left.waitedMs + right.waitedMs,
    isEstimated: left.isEstimated || right.isEstimated,
  };
}

export function costOf(
  spent: Pick<ModelSpending, 'inputTokens' | 'outputTokens'>,
  price: ModelAccess['price'],
): number {
  return (spent.inputTokens * price.input + spent.outputTokens * price.output) / 1_000_000;
}
