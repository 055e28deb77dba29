import { Counter, type Registry } from 'prom-client';
import type { ModelOutcome } from './client.ts';

interface Sum {
  readonly calls: Map<ModelOutcome['kind'], number>;
  inputTokens: number;
  outputTokens: number;
  cost: number;
}

/** The process's model requests and their use since its start; per account in a service with accounts. */
export class ModelTotals {
  readonly #sums = new Map<string, Sum>();

  add({ kind, inputTokens, outputTokens, cost }: ModelOutcome, account = ''): void {
    const sum = this.#sums.get(account) ?? { calls: new Map(), inputTokens: 0, outputTokens: 0, cost: 0 };
    sum.calls.set(kind, (sum.calls.get(kind) ?? 0) + 1);
    sum.inputTokens += inputTokens;
    sum.outputTokens += outputTokens;
    sum.cost += cost;
    this.#sums.set(account, sum);
  }

  /**
   * Registers the counters, which are read at every scrape.
   *
   * @param isShown selects the accounts to show; without it the metrics have no account label.
   */
  register(registers: Registry[], isShown?: (account: string) => boolean): void {
    const sums = () => [...this.#sums].filter(([account]) => isShown?.(account) ?? true);
    const labelsOf = (account: string): Record<string, string> => (isShown ? { account } : {});
    const own = isShown ? ['account'] : [];
    new Counter({
      name: 'picket_model_calls_total',
      help: 'Requests to the model by outcome: answered; failed; limited: not sent because a limit was reached; stopped: ended together with their run',
      labelNames: [...own, 'outcome'],
      registers,
      collect() {
        this.reset();
        for (const [account, { calls }] of sums()) {
          for (const [outcome, count] of calls) this.inc({ ...labelsOf(account), outcome }, count);
        }
      },
    });
    new Counter({
      name: 'picket_model_tokens_total',
      help: 'Tokens of requests (input) and responses (output)',
      labelNames: [...own, 'kind'],
      registers,
      collect() {
        this.reset();
        for (const [account, { inputTokens, outputTokens }] of sums()) {
          this.inc({ ...labelsOf(account), kind: 'input' }, inputTokens);
          this.inc({ ...labelsOf(account), kind: 'output' }, outputTokens);
        }
      },
    });
    new Counter({
      name: 'picket_model_cost_total',
      help: 'Cost by MODEL_INPUT_PRICE and MODEL_OUTPUT_PRICE, in their currency',
      labelNames: own,
      registers,
      collect() {
        this.reset();
        for (const [account, { cost }] of sums()) this.inc(labelsOf(account), cost);
      },
    });
  }
}
