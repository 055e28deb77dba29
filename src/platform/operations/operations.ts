import { AppError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import type { z } from 'zod';
import { type CallRequest, type ConnectionRoute, successOf, worksOnConnection } from '../feature/exchange.ts';
import type { AnyHandler, Call } from '../feature/handler.ts';
import { refuseRole } from '../http/auth.ts';
import { logAudit } from '../http/request-log.ts';
import { validated } from '../http/validated.ts';
import type { AccountCaller } from '../ids/callers.ts';
import { type Answer, CollectedReply, totalOf } from './answer.ts';

type In<R, Name extends string> =
  R extends Record<Name, infer Schema extends z.ZodType>
    ? { readonly [K in Name]: z.input<Schema> }
    : { readonly [K in Name]?: undefined };
/** A query whose fields are all optional may be omitted. */
type Query<R> =
  R extends Record<'query', infer Schema extends z.ZodType>
    ? Record<string, never> extends z.input<Schema>
      ? { readonly query?: z.input<Schema> }
      : { readonly query: z.input<Schema> }
    : { readonly query?: undefined };
export type OperationInput<R extends Route> = R extends ConnectionRoute
  ? never
  : In<R, 'params'> & Query<R> & In<R, 'body'>;
type Body<R> = R extends { response: infer Schema extends z.ZodType } ? z.output<Schema> : undefined;

/** Input of a call whose operation is known only at run time. */
export interface AnyInput {
  readonly params?: object | undefined;
  readonly query?: object | undefined;
  readonly body?: unknown;
}

export interface OperationsOptions {
  /** The handler of every operation, by operationId. */
  readonly handlers: ReadonlyMap<string, AnyHandler>;
  readonly caller: AccountCaller;
  /** The request that triggered the operations. */
  readonly request: CallRequest & { readonly id?: string };
  /** Charges a call to its caller's limits. @throws AppError RATE_LIMITED */
  readonly spend?: ((route: Route, reply: CollectedReply) => void) | undefined;
  /** Logs each write; if absent, the operations belong to a request that is logged itself. */
  readonly logger?: Logger | undefined;
}

/**
 * Calls operations of the API without HTTP, for pages, deployments and tools: the same handlers, roles and validation.
 * The caller gains no permission beyond the individual calls.
 */
export class Operations {
  readonly #options: OperationsOptions;

  constructor(options: OperationsOptions) {
    this.#options = options;
  }

  /**
   * Calls an operation and returns the body of its response.
   *
   * @throws AppError as over the API: VALIDATION_FAILED, READ_ONLY_KEY, RATE_LIMITED, NOT_FOUND, …
   */
  async call<R extends Route>(route: R, input: OperationInput<R>): Promise<Body<R>> {
    return (await this.answer(route, input as AnyInput)).body as Body<R>;
  }

  /** The same for an operation known only at run time. */
  async callAny<Answered>(route: Route, input: AnyInput): Promise<Answered> {
    return (await this.answer(route, input)).body as Answered;
  }

  /** Returns a page of a list, with the size of the whole list. */
  async list<R extends Route>(
    route: R,
    input: OperationInput<R>,
  ): Promise<{ readonly entries: Body<R>; readonly total: number }> {
    const answer = await this.answer(route, input as AnyInput);
    return { entries: answer.body as Body<R>, total: totalOf(answer) };
  }

  /** Calls an operation and returns its complete response. @throws AppError */
  async answer(route: Route, input: AnyInput): Promise<Answer> {
    if (worksOnConnection(route)) throw new Error(`${route.operationId} works on a connection`);
    return this.#answer(route, input);
  }

  /** Calls an operation that stores the body of the request behind these operations, which nothing else has read. */
  async upload<R extends Route & { readonly isBodyRaw: true }>(route: R): Promise<Body<R>> {
    return (await this.#answer(route, {})).body as Body<R>;
  }

  async #answer(route: Route, input: AnyInput): Promise<Answer> {
    const { handlers, caller, request, spend, logger } = this.#options;
    refuseRole(route, caller);
    const handler = handlers.get(route.operationId);
    if (!handler) throw new Error(`no handler for ${route.operationId}`);
    const reply = new CollectedReply();
    spend?.(route, reply);
    const { params = {}, query = {}, body } = input;
    const values = validated(route, { params, query, body });
    const audit = (status: number) => {
      if (logger) logAudit(logger, route, { account: caller, request, object: values.params, status });
    };
    try {
      const returned = await handler({ ...values, caller, request, reply } as unknown as Call);
      const answer = reply.answer(returned, (set) => successOf(route, set));
      audit(answer.status);
      return answer;
    } catch (thrown) {
      audit(thrown instanceof AppError ? thrown.statusCode : 500);
      throw thrown;
    }
  }

  /** Whether the caller's role allows an operation; pages do not offer the others. */
  allows(route: Route): boolean {
    try {
      refuseRole(route, this.#options.caller);
      return true;
    } catch {
      return false; // It throws for no other reason.
    }
  }
}
