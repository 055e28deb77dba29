import { randomUUID } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../../lib/errors.ts';
import type { Route } from '../../../protocol/http/route.ts';
import type { HandlerDeps } from '../handler.ts';
import { fieldError } from '../validation.ts';
import { hashOf, openAnswer, sealAnswer } from './sealing.ts';
import type { StoredAnswerRow } from './tables.ts';

export const idempotencyHeader = 'idempotency-key';
export const longestKey = 255;
/** How long an answer is given again. */
export const keptMs = 24 * 3_600_000;
/** After this time a request of another process that has no answer is over, and nobody knows how. */
const longestRequestMs = 60_000;

/** Whether an operation heeds the header: those that create or start something, not those that only read. */
export function heedsKeys(route: Route): boolean {
  return (
    route.credential === 'account' &&
    route.method === 'POST' &&
    !route.isReadOnly &&
    !route.isBodyRaw &&
    !route.isResponseRaw
  );
}

interface Reserved {
  readonly keyHash: string;
  /** What its answer is encrypted with. */
  readonly secret: readonly string[];
}

/**
 * A request that is sent again with its idempotency key is not carried out again, and answered as it was.
 *
 * RESERVED before the operation begins: a row without an answer → ANSWERED once it succeeded → gone after a day. A request
 * that is refused or fails leaves no row: it may be sent again. A service that ends in between, or that cannot store the
 * answer, leaves a reserved row: nobody knows whether the operation was carried out, so the key is refused with 409 from then
 * on, and never carried out twice.
 */
export class Idempotency {
  readonly #deps: Pick<HandlerDeps, 'store' | 'clock' | 'logger'>;
  readonly #processId = randomUUID();
  readonly #reserved = new WeakMap<FastifyRequest, Reserved>();
  readonly #requestHashes = new WeakMap<FastifyRequest, string>();
  /** Requests of this process that are being answered. */
  readonly #underWay = new Set<string>();
  /** Rows of this process that stand for nothing, because they could not be removed. */
  readonly #void = new Set<string>();

  constructor(deps: Pick<HandlerDeps, 'store' | 'clock' | 'logger'>) {
    this.#deps = deps;
  }

  /** Looks at a request as it was sent, before its values are read. @throws AppError VALIDATION_FAILED */
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
   * Reserves a request's key, or answers as before.
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
    if (this.#void.has(keyHash)) {
      await store.storedAnswers.remove(keyHash);
      this.#void.delete(keyHash);
    }
    const row = { key_hash: keyHash, account_id: accountId, process_id: this.#processId };
    const isFirst = await store.storedAnswers.reserve(
      { ...row, request_hash: requestHash, created: now },
      now - keptMs,
    );
    if (isFirst) {
      this.#reserved.set(request, { keyHash, secret });
      this.#underWay.add(keyHash);
      return;
    }
    const earlier = await store.storedAnswers.find(keyHash);
    // It failed just now.
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

  #withoutAnswer(
    { key_hash, process_id, created }: StoredAnswerRow,
    now: number,
    reply: FastifyReply,
  ): AppError {
    const isUnderWay =
      process_id === this.#processId
        ? this.#underWay.has(key_hash)
        : this.#deps.store.engine === 'postgres' && now - created < longestRequestMs;
    if (isUnderWay) return this.#inProgress(reply);
    return new AppError(
      'IDEMPOTENCY_KEY_IN_USE',
      `A request with this Idempotency-Key began at ${new Date(created).toISOString()}, and the service ended before it had stored ` +
        'the answer. Look whether it was carried out; if it was not, send it again with a new key.',
    );
  }

  #inProgress(reply: FastifyReply): AppError {
    reply.header('retry-after', '1');
    return new AppError(
      'IDEMPOTENCY_KEY_IN_USE',
      'A request with this Idempotency-Key is still being answered. Send it again in a second.',
    );
  }

  /** Stores what is answered, before it is sent; what did not succeed is forgotten. */
  async end(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<void> {
    const reserved = this.#reserved.get(request);
    if (!reserved) return;
    this.#reserved.delete(request);
    const { store, logger } = this.#deps;
    const { keyHash, secret } = reserved;
    const { statusCode } = reply;
    const isDone = statusCode >= 200 && statusCode < 300;
    try {
      if (isDone) {
        const body = typeof payload === 'string' ? payload : '';
        await store.storedAnswers.complete(keyHash, sealAnswer(secret, { statusCode, body }));
      } else await store.storedAnswers.remove(keyHash);
    } catch (thrown) {
      // What was done is done: its caller must not read that it was not.
      if (!isDone) this.#void.add(keyHash);
      logger.warn({ err: thrown, requestId: request.id }, 'answer of an idempotency key not stored');
    } finally {
      this.#underWay.delete(keyHash);
    }
  }
}
