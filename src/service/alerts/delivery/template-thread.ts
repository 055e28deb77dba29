import { once } from 'node:events';
import { extname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { OutboundRequest } from '@picket/channels/contract/channel.ts';
import type { ChannelMessage } from '@picket/channels/contract/message.ts';
import type { WebhookConfig } from '@picket/channels/webhook/config.ts';
import { TemplateError } from '@picket/checks/judging/templating.ts';
import { CpuLimitExceeded, cpuMsOf } from '@picket/lib/bounds/cpu-limit.ts';
import { ownThreadEnvironment } from '@picket/lib/env.ts';
import { errorCodeOf } from '@picket/lib/errors.ts';
import { LruMap } from '@picket/lib/lru.ts';
import { FairQueue, type QueueFigures } from '@picket/lib/turns/fair-queue.ts';

type Problem = { key: string; message: string };

export type TemplateWork =
  | {
      readonly kind: 'request';
      readonly config: WebhookConfig;
      readonly message: ChannelMessage;
      readonly now: number;
    }
  | { readonly kind: 'problems'; readonly config: WebhookConfig };
export type TemplateReply =
  /** Its modules are loaded: from now on its CPU time belongs to templates. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'request'; readonly request: OutboundRequest }
  | { readonly kind: 'problems'; readonly problems: Problem[] }
  | {
      readonly kind: 'failed';
      readonly isTemplate: boolean;
      readonly message: string;
      readonly stack: string;
    };

/** Limits for all templates of one webhook together: CPU time, and memory of the thread. */
const limits = { cpuMs: 500, heapMb: 128 };
const watchIntervalMs = 250;
/** Templates that exceeded a limit are refused for this long. */
const refusedMs = 10 * 60_000;
/** More than the notifications in flight of an account plus its calls that test templates. */
const waitingPerAccount = 1_000;

/**
 * Renders webhook templates, which are untrusted programs, in a thread of their own: one webhook at a time, accounts in
 * turn. A thread that takes too long or runs out of memory is terminated and replaced, and the templates of that
 * webhook are refused for ten minutes. The thread starts on first use.
 */
export class TemplateThread {
  readonly #queue = new FairQueue({ name: 'templates', atOnce: 1, waitingPerKey: waitingPerAccount });
  readonly #refused = new LruMap<string, { readonly reason: string; readonly untilMs: number }>(1000);
  #worker: Worker | undefined;
  #ready: Promise<unknown> = Promise.resolve();

  /** @throws TemplateError */
  async request(
    accountId: string,
    config: WebhookConfig,
    message: ChannelMessage,
    now: number,
  ): Promise<OutboundRequest> {
    const reply = await this.#do(accountId, { kind: 'request', config, message, now });
    if (reply.kind === 'request') return reply.request;
    throw failureOf(reply);
  }

  /** Problems in the templates and headers of a webhook, by field. */
  async problems(accountId: string, config: WebhookConfig): Promise<Problem[]> {
    try {
      const reply = await this.#do(accountId, { kind: 'problems', config });
      if (reply.kind === 'problems') return reply.problems;
      throw failureOf(reply);
    } catch (thrown) {
      if (!(thrown instanceof TemplateError)) throw thrown;
      return [{ key: 'config', message: `has invalid templates: ${thrown.message}` }];
    }
  }

  #do(accountId: string, work: TemplateWork): Promise<TemplateReply> {
    return this.#queue.run({ key: accountId }, () => this.#run(work));
  }

  figures(): QueueFigures {
    return this.#queue.figures();
  }

  async #run(work: TemplateWork): Promise<TemplateReply> {
    const key = JSON.stringify(work.config);
    const refused = this.#refused.get(key);
    if (refused && refused.untilMs > performance.now()) throw new TemplateError(refused.reason);
    const worker = this.#worker ?? this.#start();
    worker.ref();
    await this.#ready;
    const done = new AbortController();
    const ended = Promise.withResolvers<TemplateReply>();
    const onExit = () => ended.reject(new Error('the thread for templates ended'));
    worker.once('message', ended.resolve).once('error', ended.reject).once('exit', onExit);
    this.#watch(worker, done.signal).catch(ended.reject);
    try {
      worker.postMessage(work);
      return await ended.promise;
    } catch (thrown) {
      const isTooMuch =
        thrown instanceof CpuLimitExceeded || errorCodeOf(thrown) === 'ERR_WORKER_OUT_OF_MEMORY';
      this.#forget(worker);
      await worker.terminate();
      if (!isTooMuch) throw thrown;
      const reason = `its templates take more than ${limits.cpuMs} ms of CPU time or ${limits.heapMb} MB of memory`;
      this.#refused.set(key, { reason, untilMs: performance.now() + refusedMs });
      throw new TemplateError(reason);
    } finally {
      done.abort();
      worker.unref();
      worker.off('message', ended.resolve).off('error', ended.reject).off('exit', onExit);
    }
  }

  /**
   * Rejects if a thread works too long. Elapsed time alone would also catch a thread that got no CPU. A thread that has
   * ended reports the reason by its own events.
   *
   * @throws CpuLimitExceeded
   */
  async #watch(worker: Worker, done: AbortSignal): Promise<void> {
    const firstMs = await cpuMsOf(worker);
    for (let cpuMs = firstMs; cpuMs !== undefined && firstMs !== undefined; ) {
      if (cpuMs - firstMs >= limits.cpuMs) throw new CpuLimitExceeded(limits.cpuMs);
      await sleep(watchIntervalMs, undefined, { signal: done, ref: false });
      cpuMs = await cpuMsOf(worker);
    }
  }

  #start(): Worker {
    const entry = new URL(`./template-worker${extname(import.meta.url)}`, import.meta.url);
    const worker = new Worker(entry, {
      name: 'templates',
      env: ownThreadEnvironment,
      resourceLimits: { maxOldGenerationSizeMb: limits.heapMb, maxYoungGenerationSizeMb: 16 },
    });
    // Between two jobs no caller waits for it.
    worker.on('error', () => this.#forget(worker)).on('exit', () => this.#forget(worker));
    this.#worker = worker;
    const ended = once(worker, 'exit').then(() => {
      throw new Error('the thread for templates ended before it was ready');
    });
    this.#ready = Promise.race([once(worker, 'message'), ended]);
    return worker;
  }

  #forget(worker: Worker): void {
    if (this.#worker === worker) this.#worker = undefined;
  }
}

function failureOf(reply: TemplateReply): Error {
  if (reply.kind !== 'failed') return new Error(`the thread for templates answered with ${reply.kind}`);
  if (reply.isTemplate) return new TemplateError(reply.message);
  return Object.assign(new Error(reply.message), { stack: reply.stack });
}

/** The instance of this process. */
export const templateThread = new TemplateThread();
