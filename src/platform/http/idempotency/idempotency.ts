import { randomUUID } from 'node:crypto';
import { AppError } from '@picket/lib/errors.ts';
import { LruMap } from '@picket/lib/lru.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HandlerDeps } from '../../feature/handler.ts';
import { type CommitWatch, watchCommits } from '../../store/commits.ts';
import { fieldError } from '../validation.ts';
import { hashOf, openAnswer, sealAnswer } from './sealing.ts';
import type { StoredAnswerRow } from './tables.ts';

export const idempotencyHeader = 'idempotency-key';
export const longestKey = 255;
/** How long a response is replayed. */
export const keptMs = 24 * 3_600_000;
/** After this time, an unanswered request of another process is over and its outcome unknown. */
const longestRequestMs = 60_000;

/**
 * Whether an operation supports the header: those that create or start something, not those that only read. Requests of
 * other methods can be repeated as they are.
 */
export function heedsKeys(route: Route): boolean {
  return (
    route.credential === 'account' &&
    route.method === 'POST' &&
    !route.isReadOnly &&
    !route.isBodyRaw &&
    !route.isResponseRaw
  );
}

/**
 * Uploads do not support the header: their bytes are not kept for comparison, and equal bytes are stored once anyway.
 *
 * @throws AppError VALIDATION_FAILED for an upload with a key
 */
export function refuseKeyOfUpload(route: Route, { headers }: FastifyRequest): void {
  if (!route.isBodyRaw || headers[idempotencyHeader] === undefined) return;
  const message =
    'has no effect on uploads: omit it. The same bytes are stored once, however often you send them';
  throw fieldError('headers', [{ key: idempotencyHeader, message }]);
}

interface Reserved {
  readonly row: Pick<StoredAnswerRow, 'key_hash' | 'process_id'>;
  /** Encryption secret of the response. */
  readonly secret: readonly string[];
  readonly watch: CommitWatch;
}

/**
 * Executes a request with an idempotency key once and replays its response to repetitions.
 *
 * RESERVED before the operation begins: a row without a response → ANSWERED once it succeeded → deleted after a day. A
 * request that is refused, or fails before it committed anything, leaves no row and may be repeated. A failure after a
 * commit, or a service that exits in between or cannot store the response, leaves a reserved row: its outcome is
 * unknown, so the key is refused with 409 from then on, and never executed twice.
 */
export class Idempotency {
  readonly #deps: Pick<HandlerDeps, 'store' | 'clock' | 'logger'>;
  readonly #processId = randomUUID();
  readonly #reserved = new WeakMap<FastifyRequest, Reserved>();
  readonly #requestHashes = new WeakMap<FastifyRequest, string>();
  /** Requests in progress in this process. */
  readonly #underWay = new Set<string>();
  /** Obsolete rows of this process that could not be removed: by key, the request that left each. */
  readonly #void = new LruMap<string, string>(10_000);

  constructor(deps: Pick<HandlerDeps, 'store' | 'clock' | 'logger'>) {
    this.#deps = deps;
  }

  /** Examines a request as sent, before its values are parsed. @throws AppError VALIDATION_FAILED */
  look(request: FastifyRequest): void {
    const key = request.headers[idempotencyHeader];
    if (key === undefined) return;
    if (typeof key !== 'string' || !/^[\x21-\x7e]+$/.test(key) || key.length > longestKey) {
      const message = `must be 1 to ${longestKey} visible ASCII characters`;
      throw fieldError('headers', [{ key: idempotencyHeader, message }]);
    }
    this.#requestHashes.set(request, hashOf(request.url, JSON.stringify(request.body) ?? ''));
  }

  /**
   * Reserves a request's key, or replays the earlier response.
   *
   * @throws AppError IDEMPOTENCY_KEY_REUSED or IDEMPOTENCY_KEY_IN_USE
   */
  async begin(route: Route, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const requestHash = this.#requestHashes.get(request);
    const { caller, headers } = request;
    if (requestHash === undefined || caller.kind !== 'account') return;
    const key = String(headers[idempotencyHeader]);
    const { accountId, actor } = caller.account;
    const keyHash = hashOf(accountId, actor.id, route.operationId, key);
    const secret = [
      String(headers.authorization)
        .replace(/^Bearer +/i, '')
        .trim(),
      key,
    ];
    const { store, clock } = this.#deps;
    const now = clock.wallMs();
    await this.#removeVoid(keyHash);
    const row = { key_hash: keyHash, process_id: `${this.#processId}/${request.id}` };
    this.#underWay.add(row.process_id);
    const isFirst = await this.#reserve(
      { ...row, account_id: accountId, request_hash: requestHash, created: now },
      now - keptMs,
    );
    if (isFirst) {
      this.#reserved.set(request, { row, secret, watch: { mayHaveCommitted: false } });
      return;
    }
    this.#underWay.delete(row.process_id);
    let earlier = await store.storedAnswers.find(keyHash);
    // The earlier request may have succeeded or failed since the row was read.
    if (earlier?.sealed_answer === null && !this.#isUnderWay(earlier, now)) {
      earlier = await store.storedAnswers.find(keyHash);
    }
    if (!earlier) throw this.#inProgress(reply);
    if (earlier.request_hash !== requestHash) {
      throw new AppError(
        'IDEMPOTENCY_KEY_REUSED',
        'This Idempotency-Key was sent with another body or address. Use a new key for a new request.',
      );
    }
    if (earlier.sealed_answer === null) throw this.#withoutAnswer(earlier, now, reply);
    const { statusCode, body } = openAnswer(secret, earlier.sealed_answer);
    reply.header('idempotent-replayed', 'true').code(statusCode);
    await (body === '' ? reply.send() : reply.type('application/json; charset=utf-8').send(body));
  }

  async #reserve(row: Omit<StoredAnswerRow, 'sealed_answer'>, before: number): Promise<boolean> {
    try {
      return await this.#deps.store.storedAnswers.reserve(row, before);
    } catch (thrown) {
      // The row may exist: a connection can break after a statement was executed.
      this.#underWay.delete(row.process_id);
      this.#void.set(row.key_hash, row.process_id);
      throw thrown;
    }
  }

  async #removeVoid(keyHash: string): Promise<void> {
    const processId = this.#void.get(keyHash);
    if (processId === undefined) return;
    await this.#deps.store.storedAnswers.remove({ key_hash: keyHash, process_id: processId });
    if (this.#void.get(keyHash) === processId) this.#void.delete(keyHash);
  }

  /** Executes a request and records whether it committed anything. */
  runOnce<T>(request: FastifyRequest, work: () => T): T {
    const reserved = this.#reserved.get(request);
    return reserved ? watchCommits(reserved.watch, work) : work();
  }

  #isUnderWay({ process_id, created }: StoredAnswerRow, now: number): boolean {
    if (process_id.split('/')[0] === this.#processId) return this.#underWay.has(process_id);
    return this.#deps.store.engine === 'postgres' && now - created < longestRequestMs;
  }

  #withoutAnswer(row: StoredAnswerRow, now: number, reply: FastifyReply): AppError {
    if (this.#isUnderWay(row, now)) return this.#inProgress(reply);
    return new AppError(
      'IDEMPOTENCY_KEY_IN_USE',
      `A request with this Idempotency-Key began at ${new Date(row.created).toISOString()}, and its outcome is unknown: the service ` +
        'ended or failed before it had stored the answer. Look whether it was carried out; if it was not, send it again with a new key.',
    );
  }

  #inProgress(reply: FastifyReply): AppError {
    reply.header('retry-after', '1');
    return new AppError(
      'IDEMPOTENCY_KEY_IN_USE',
      'A request with this Idempotency-Key is still in progress. Send it again in a second.',
    );
  }

  /** Stores a response before it is sent; deletes the row of a request that changed nothing. */
  async end(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<void> {
    const reserved = this.#reserved.get(request);
    if (!reserved) return;
    this.#reserved.delete(request);
    const { store, logger } = this.#deps;
    const { row, secret, watch } = reserved;
    const { statusCode } = reply;
    const isDone = statusCode >= 200 && statusCode < 300;
    const isUnknown = statusCode >= 500 && watch.mayHaveCommitted;
    try {
      if (isDone) {
        const body = typeof payload === 'string' ? payload : '';
        await store.storedAnswers.complete(row, sealAnswer(secret, { statusCode, body }));
      } else if (!isUnknown) await store.storedAnswers.remove(row);
    } catch (thrown) {
      // A completed operation must not be reported as failed.
      if (!isDone) this.#void.set(row.key_hash, row.process_id);
      logger.warn({ err: thrown, requestId: request.id }, 'response for an idempotency key not stored');
    } finally {
      this.#underWay.delete(row.process_id);
    }
  }
}
