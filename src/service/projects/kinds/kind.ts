import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Keeping } from '@picket/checks/contract/masking.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import { customDomainOf } from '@picket/protocol/pages/page-fields.ts';
import type { Kind } from '@picket/protocol/projects/kind.ts';
import type { KindName } from '@picket/protocol/projects/kinds.ts';
import type { PhysicalId } from '@picket/protocol/projects/project.ts';

export type Body = Readonly<Record<string, unknown>>;

/** What a resource is, or is to be; undefined where that is not known. */
export type Lookup = (
  type: 'status-page' | 'status-page-component',
  id: unknown,
) => Promise<Body | undefined>;

/** A resource by the id that projects know it by, and the one that people name it by. */
export interface Identity {
  readonly physicalId: PhysicalId;
  readonly shownId: PhysicalId;
}

/** What only deployments and imports must know of a kind, to write its resources by their own operations. */
export interface Particulars {
  /** Every resource of an account; absent: those of the plain resource with its operations. */
  readonly ids?: (repositories: Repositories, accountId: string) => Promise<readonly Identity[]>;
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
  /** A whole desired body, with what only the stored one has: ids of parts, tokens, hidden values. */
  readonly keeping?: (desired: Body, stored: Body, addresses?: Keeping) => Body;
  /** What the variables in its addresses stand for, stored and as desired. */
  readonly addresses?: (
    repositories: Repositories,
    accountId: string,
    id: PhysicalId,
    desired: Body,
  ) => Promise<Keeping>;
  /** Whether that comes before a payload is judged: a hidden "" is nothing that its operation would take. */
  readonly keepsFirst?: true;
  /** Whether the stored one has to go, and another one be made. */
  readonly isReplaced?: (desired: Body, stored: Body) => boolean;
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
}

export type ResourceKind = Kind<KindName> & Particulars & Required<Pick<Particulars, 'ids'>>;

interface AnyTable {
  readonly shape: { readonly key: string };
  listBehind(accountId: string): Promise<readonly object[]>;
}

/** The repositories of what belongs to accounts. */
export type TableName = {
  [Name in keyof Repositories]: Repositories[Name] extends AnyTable ? Name : never;
}[keyof Repositories];

/** Every resource of an account in a table, in the order of its lists. */
export function idsIn(name: TableName): ResourceKind['ids'] {
  return async (repositories, accountId) => {
    const table: AnyTable = repositories[name];
    const rows = (await table.listBehind(accountId)) as readonly Readonly<Record<string, PhysicalId>>[];
    return rows.flatMap((row) => {
      const physicalId = row[table.shape.key];
      return physicalId === undefined ? [] : [{ physicalId, shownId: row.id ?? physicalId }];
    });
  };
}

/** Whether a desired body says anything else than what is stored. What it does not say stays as it is. */
export function differs(desired: Body, stored: Body): boolean {
  return Object.entries(desired).some(
    ([field, value]) => value !== undefined && !isDeepStrictEqual(value, stored[field]),
  );
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
