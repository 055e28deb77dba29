import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { ownThreadEnvironment } from '@picket/lib/env.ts';
import { toError } from '@picket/lib/errors.ts';
import type {
  SpoolAnswer,
  SpoolCall,
  SpoolFacts,
  SpoolReplies,
  SpoolRequest,
  SpoolStart,
} from './spool-message.ts';

const entry = new URL(`./spool-worker${extname(import.meta.url)}`, import.meta.url);
const maxHeapMb = 512;

/** The spool could not carry out a request; the message is a system error code or text, never a path. */
export class SpoolProblem extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SpoolProblem';
  }
}

interface Pending {
  readonly resolve: (value: never) => void;
  readonly reject: (problem: SpoolProblem) => void;
  readonly askedAtMs: number;
}

/** The thread that runs the store, as seen by the main thread. When it ends, all pending and later requests reject. */
export class SpoolThread {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  readonly #nowMs: () => number;
  #lastId = 0;
  #endedBy: SpoolProblem | undefined;
  #facts: SpoolFacts | undefined;

  constructor(start: SpoolStart, nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#worker = new Worker(entry, {
      name: 'spool',
      workerData: start,
      env: ownThreadEnvironment,
      resourceLimits: { maxYoungGenerationSizeMb: 24, maxOldGenerationSizeMb: maxHeapMb },
    });
    this.#worker.on('message', (answer: SpoolAnswer) => this.#settle(answer));
    this.#worker.on('error', (error) => this.#end(`the spool thread failed: ${toError(error).name}`));
    this.#worker.on('messageerror', () => this.#end('the spool thread sent an unreadable message'));
    this.#worker.on('exit', () => this.#end('the spool thread has ended'));
  }

  /** Facts of its latest reply. */
  get facts(): SpoolFacts | undefined {
    return this.#facts;
  }

  get hasEnded(): boolean {
    return this.#endedBy !== undefined;
  }

  /** How long the oldest request has been pending. */
  get silentMs(): number {
    const [oldest] = this.#pending.values();
    return oldest ? this.#nowMs() - oldest.askedAtMs : 0;
  }

  /** @throws SpoolProblem */
  async ask<Op extends SpoolRequest['op']>(
    request: Extract<SpoolRequest, { readonly op: Op }>,
  ): Promise<SpoolReplies[Op]> {
    if (this.#endedBy) throw this.#endedBy;
    const { promise, resolve, reject } = Promise.withResolvers<SpoolReplies[Op]>();
    const id = ++this.#lastId;
    this.#pending.set(id, { resolve: resolve as (value: never) => void, reject, askedAtMs: this.#nowMs() });
    this.#worker.postMessage({ id, request } satisfies SpoolCall);
    return await promise;
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  #settle(answer: SpoolAnswer): void {
    const pending = this.#pending.get(answer.id);
    this.#pending.delete(answer.id);
    this.#facts = answer.facts;
    if ('problem' in answer) pending?.reject(new SpoolProblem(answer.problem));
    else pending?.resolve(answer.value as never);
  }

  #end(reason: string): void {
    this.#endedBy ??= new SpoolProblem(reason);
    for (const { reject } of this.#pending.values()) reject(this.#endedBy);
    this.#pending.clear();
  }
}
