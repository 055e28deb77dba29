import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Keeping } from '../../../checks/contract/masking.ts';
import type { Route } from '../../../protocol/http/route.ts';
import { customDomainOf } from '../../../protocol/pages/page-fields.ts';
import type { PhysicalId } from '../../../protocol/projects/project.ts';
import type { Repositories } from '../../store/repositories.ts';

export type Body = Readonly<Record<string, unknown>>;

interface Routes {
  readonly create: Route;
  readonly get: Route;
  /** Absent for what is made and deleted, never changed. */
  readonly update?: Route;
  readonly delete: Route;
}

/** What a resource is, or is to be; undefined where that is not known. */
export type Lookup = (
  type: 'status-page' | 'status-page-component',
  id: unknown,
) => Promise<Body | undefined>;

/** What a deployment must know of a kind of resources to write them by their own operations. */
export interface ResourceKind {
  readonly routes: Routes;
  /** The parameter of its paths. */
  readonly key: string;
  /** Whether the database numbers them. */
  readonly isNumbered: boolean;
  readonly idOf: (answer: Body) => PhysicalId;
  /** What is stored of one, as it is written, where `get` masks parts of it. */
  readonly stored?: (
    repositories: Repositories,
    accountId: string,
    id: PhysicalId,
  ) => Promise<Body | undefined>;
  /** The operation whose body a payload is; the create route, where types differ by it. */
  readonly bodyRoute?: (payload: Body) => Route;
  /** What `get` shows, in the form in which it is written. */
  readonly asWritten?: (shown: Body) => Body;
  /** A payload as the operation takes it. */
  readonly bodyOf?: (payload: Body) => Body;
  /** A whole wished body, with what only the stored one has: ids of parts, tokens, hidden values. */
  readonly keeping?: (wished: Body, stored: Body, addresses?: Keeping) => Body;
  /** What the variables in its addresses stand for, stored and as wished. */
  readonly addresses?: (
    repositories: Repositories,
    accountId: string,
    id: PhysicalId,
    wished: Body,
  ) => Promise<Keeping>;
  /** Whether that comes before a payload is judged: a hidden "" is nothing that its operation would take. */
  readonly keepsFirst?: true;
  /** Whether the stored one has to go, and another one be made. */
  readonly isReplaced?: (wished: Body, stored: Body) => boolean;
  /**
   * What its operation would refuse because of what it names: a dry run calls no operation that writes.
   *
   * @throws AppError VALIDATION_FAILED
   */
  readonly judge?: (body: Body, lookup: Lookup) => Promise<void>;
  /** Fields whose value only one resource can have, with what stands there while it passes to another one. */
  readonly exclusive?: Readonly<Record<string, () => unknown>>;
  /** What a query of its operation of creation says. */
  readonly createQuery?: Body;
  /** Imported only where its type is asked for by name: other programs that import everything do not know it. */
  readonly isImportedByName?: true;
}

type NamedRoutes<Noun extends string> = Readonly<
  Record<`create${Noun}` | `get${Noun}` | `update${Noun}` | `delete${Noun}`, Route>
>;

/** A kind by what its operations are called. */
export function named<Noun extends string>(noun: Noun, routes: NamedRoutes<Noun>): ResourceKind {
  return kindWith({
    create: routes[`create${noun}`],
    get: routes[`get${noun}`],
    update: routes[`update${noun}`],
    delete: routes[`delete${noun}`],
  });
}

/** A kind by its operations, with the ids that these have. */
export function kindWith(routes: Routes): ResourceKind {
  const [, key = ''] = /\{(\w+)\}/.exec(routes.get.path) ?? [];
  const isNumbered = typeof routes.get.params?.shape[key]?.safeParse('1').data === 'number';
  return { routes, key, isNumbered, idOf: (answer) => (answer[key] ?? answer.id) as PhysicalId };
}

/** Whether a wished body says anything else than what is stored. What it does not say stays as it is. */
export function differs(wished: Body, stored: Body): boolean {
  return Object.entries(wished).some(
    ([field, value]) => value !== undefined && !isDeepStrictEqual(value, stored[field]),
  );
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Its custom domain as the store has it. What is no host name is left to the operation, which says so. */
export function withHost(payload: Body): Body {
  const { customDomain } = payload;
  if (typeof customDomain !== 'string') return payload;
  return { ...payload, customDomain: customDomainOf(customDomain) ?? customDomain };
}

/** An address that no other page has. */
export function passingAddress(): string {
  return `passing-${randomBytes(8).toString('hex')}`;
}

export function lowerCase(payload: Body, fields: readonly string[]): Body {
  const entries = fields.flatMap((field) => {
    const value = payload[field];
    return typeof value === 'string' ? [[field, value.toLowerCase()]] : [];
  });
  return { ...payload, ...Object.fromEntries(entries) };
}
