import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { AppError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { askedBy } from '../../lib/turns/asker.ts';
import type { Route } from '../../protocol/http/route.ts';
import type { AnyHandler, Call } from '../feature/handler.ts';
import { refuseRole } from '../http/auth.ts';
import type { RawTransfers } from '../http/bodies/raw-transfers.ts';
import type { RateLimits } from '../http/limits.ts';
import { logAudit } from '../http/request-log.ts';
import { blankNameIssues } from '../http/unknown-names.ts';
import { fieldError, findUnstorable, validationError } from '../http/validation.ts';
import type { AccountCaller } from '../ids/callers.ts';

type In<R, Name extends string> =
  R extends Record<Name, infer Schema extends z.ZodType>
    ? { readonly [K in Name]: z.input<Schema> }
    : { readonly [K in Name]?: undefined };
/** Without defaults a query may be left out. */
type Query<R> =
  R extends Record<'query', infer Schema extends z.ZodType>
    ? Record<string, never> extends z.input<Schema>
      ? { readonly query?: z.input<Schema> }
      : { readonly query: z.input<Schema> }
    : { readonly query?: undefined };
export type OperationInput<R extends Route> = In<R, 'params'> & Query<R> & In<R, 'body'>;
type Answer<R> = R extends { response: infer Schema extends z.ZodType } ? z.output<Schema> : undefined;

/**
 * Operations of the API for pages, without HTTP in between: the same handlers, roles and validation. A page
 * can do nothing that the API cannot.
 */
export class Operations {
  readonly #handlers: ReadonlyMap<string, AnyHandler>;
  readonly #caller: AccountCaller;
  readonly #exchange: { readonly request: FastifyRequest; readonly reply: FastifyReply };
  readonly #logger: Logger;
  readonly #limits: RateLimits | undefined;
  readonly #transfers: RawTransfers;

  constructor(options: {
    readonly handlers: ReadonlyMap<string, AnyHandler>;
    readonly caller: AccountCaller;
    readonly request: FastifyRequest;
    readonly reply: FastifyReply;
    readonly logger: Logger;
    readonly limits: RateLimits | undefined;
    readonly transfers: RawTransfers;
  }) {
    this.#handlers = options.handlers;
    this.#caller = options.caller;
    this.#exchange = { request: options.request, reply: options.reply };
    this.#logger = options.logger;
    this.#limits = options.limits;
    this.#transfers = options.transfers;
  }

  /**
   * Calls an operation. One that answers with bytes (`isResponseRaw`) answers the page's own request.
   *
   * @throws AppError as the API answers it: VALIDATION_FAILED, READ_ONLY_KEY, RATE_LIMITED, NOT_FOUND, …
   */
  async call<R extends Route>(route: R, input: OperationInput<R>): Promise<Answer<R>> {
    refuseRole(route, this.#caller);
    const handler = this.#handlers.get(route.operationId);
    if (!handler) throw new Error(`no handler for ${route.operationId}`);
    // A page reads with many operations; what it changes counts as it does in the API.
    if (route.method !== 'GET') {
      const { request, reply } = this.#exchange;
      const caller = { kind: 'account', account: this.#caller } as const;
      this.#limits?.spend(route, { caller, ip: request.ip }, reply);
    }
    const blank = blankNameIssues(route, input.body);
    if (blank.length > 0) throw validationError('payload', blank);
    if (route.isResponseRaw) this.#transfers.add(this.#exchange.request, this.#exchange.reply);
    const call = {
      params: parsed(route.params, input.params, 'params'),
      query: parsed(route.query, input.query ?? {}, 'query'),
      body: parsed(route.body, input.body, 'payload'),
      caller: this.#caller,
      ...this.#exchange,
    } as unknown as Call;
    const audit = (status: number) =>
      logAudit(this.#logger, route, {
        account: this.#caller,
        request: this.#exchange.request,
        object: call.params,
        status,
      });
    try {
      const answer = (await askedBy({ key: this.#caller.accountId }, () => handler(call))) as Answer<R>;
      audit(route.success.statusCode);
      return answer;
    } catch (thrown) {
      audit(thrown instanceof AppError ? thrown.statusCode : 500);
      throw thrown;
    }
  }

  /** The same for an operation of which only the caller knows what it takes and answers. */
  async callAny<Answered>(
    route: Route,
    input: { readonly params?: object; readonly query?: object; readonly body?: object },
  ): Promise<Answered> {
    return (await this.call(route, input as unknown as OperationInput<Route>)) as Answered;
  }

  /** Whether the viewer's role allows an operation, so that what it refuses is not offered. */
  allows(route: Route): boolean {
    try {
      refuseRole(route, this.#caller);
      return true;
    } catch {
      return false; // It throws for nothing else.
    }
  }
}

function parsed(
  schema: z.ZodType | undefined,
  value: unknown,
  source: 'params' | 'query' | 'payload',
): unknown {
  if (!schema) return undefined;
  const result = schema.safeParse(value);
  if (!result.success) throw validationError(source, result.error.issues);
  const key = findUnstorable(value);
  if (key !== null) throw fieldError(source, [{ key, message: 'holds characters that cannot be stored' }]);
  return result.data;
}
