import type { Clock } from '@picket/lib/clock.ts';

/** A credential and how long it is valid, in milliseconds; Infinity without an end. */
export interface Credential<Value> {
  readonly value: Value;
  readonly lifeMs: number;
}

/** A credential is obtained anew this long before it ends, but not before half of its life. */
const marginMs = 300_000;

/** Obtains a credential when it is first needed, keeps it, and obtains it anew before it ends. */
export class CachedCredential<Value> {
  readonly #clock: Clock;
  readonly #obtain: (signal: AbortSignal) => Promise<Credential<Value>>;
  #kept: { readonly value: Value; readonly untilMs: number } | undefined;
  #pending: Promise<Value> | undefined;

  constructor(clock: Clock, obtain: (signal: AbortSignal) => Promise<Credential<Value>>) {
    this.#clock = clock;
    this.#obtain = obtain;
  }

  /** @throws ReferenceProblem if it cannot be obtained. */
  async get(signal: AbortSignal): Promise<Value> {
    if (this.#kept && this.#clock.monotonicMs() < this.#kept.untilMs) return this.#kept.value;
    this.#pending ??= this.#renew(signal).finally(() => {
      this.#pending = undefined;
    });
    return await this.#pending;
  }

  /** Forgets a credential that was refused. */
  forget(value: Value): void {
    if (this.#kept?.value === value) this.#kept = undefined;
  }

  async #renew(signal: AbortSignal): Promise<Value> {
    const startedAtMs = this.#clock.monotonicMs();
    const { value, lifeMs } = await this.#obtain(signal);
    this.#kept = { value, untilMs: startedAtMs + Math.max(lifeMs - marginMs, lifeMs / 2) };
    return value;
  }
}
