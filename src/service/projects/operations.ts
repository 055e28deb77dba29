import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Route } from '../../protocol/http/route.ts';
import type { AnyHandler, Call } from '../feature/handler.ts';
import { blankNameIssues, unknownFieldIssues } from '../http/unknown-names.ts';
import { findUnstorable, validationError } from '../http/validation.ts';
import type { AccountCaller } from '../ids/callers.ts';
import type { Signal } from '../store/engine/signals.ts';
import type { Repositories } from '../store/repositories.ts';
import type { Store } from '../store/store.ts';

/** Who deploys, and from where. */
export interface Deployer {
  readonly caller: AccountCaller;
  readonly address: string;
}

/**
 * Operations of the API without HTTP in between: the same handlers and validation, so that a deployment can do
 * nothing that its caller could not do call by call.
 */
export class Operations {
  readonly #handlers: ReadonlyMap<string, AnyHandler>;
  readonly #deployer: Deployer;

  constructor(handlers: ReadonlyMap<string, AnyHandler>, deployer: Deployer) {
    this.#handlers = handlers;
    this.#deployer = deployer;
  }

  /** @throws AppError as the API answers it. */
  async call(
    route: Route,
    input: { readonly params?: object; readonly query?: object; readonly body?: unknown },
  ): Promise<Readonly<Record<string, unknown>>> {
    const handler = this.#handlers.get(route.operationId);
    if (!handler) throw new Error(`no handler for ${route.operationId}`);
    const { caller, address } = this.#deployer;
    const call = {
      params: route.params?.parse(input.params ?? {}),
      query: route.query?.parse(input.query ?? {}),
      body: route.body && parsedBody(route, input.body),
      caller,
      // No operation that a deployment calls looks at anything else of its request, or answers by itself.
      request: { ip: address } as unknown as FastifyRequest,
      reply: {} as unknown as FastifyReply,
    } as unknown as Call;
    return (await handler(call)) as Readonly<Record<string, unknown>>;
  }
}

/**
 * A body as its operation takes it.
 *
 * @throws AppError VALIDATION_FAILED
 */
export function parsedBody(route: Route, body: unknown): unknown {
  const issues: z.core.$ZodIssue[] = [...unknownFieldIssues(route, body), ...blankNameIssues(route, body)];
  const unstorable = findUnstorable(body);
  if (unstorable !== null) {
    const message = 'must not contain a NUL character or half of a surrogate pair';
    issues.push({ code: 'custom', path: unstorable.split('.'), message, input: undefined });
  }
  const parsed = route.body?.safeParse(body);
  issues.push(...(parsed?.error?.issues ?? []));
  if (issues.length > 0) throw validationError('payload', issues);
  return parsed?.data;
}

/**
 * A body without fields that its operation does not know and that say nothing: clients send empty lists and nulls
 * of whatever they know of.
 */
export function withoutEmpty(
  route: Route,
  body: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const unknown = unknownFieldIssues(route, body).filter(({ path }) => path.length === 1);
  const empty = new Set(unknown.map(({ path }) => String(path[0])).filter((field) => isEmpty(body[field])));
  return Object.fromEntries(Object.entries(body).filter(([field]) => !empty.has(field)));
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

/**
 * A store all of whose work is part of one open transaction: transactions within it are parts of that one, and
 * its signals wait until it is over.
 */
export function storeWithin(store: Store, repositories: Repositories): { store: Store; signals: Signal[] } {
  const signals: Signal[] = [];
  const within: Store = {
    ...store,
    ...repositories,
    transaction: (work) => work(repositories),
    leaderTransaction: (work) => work(repositories),
    signals: {
      send: (some) => signals.push(...some),
      subscribe: (listener) => store.signals.subscribe(listener),
    },
  };
  return { store: within, signals };
}
