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

/** Looks up the current or future state of a resource; undefined if unknown. */
export type Lookup = (
  type: 'status-page' | 'status-page-component',
  id: unknown,
) => Promise<Body | undefined>;

/** A resource by the id that projects use, and the one shown to users. */
export interface Identity {
  readonly physicalId: PhysicalId;
  readonly shownId: PhysicalId;
}

/** Details of a kind that only deployments and imports need to write its resources by their own operations. */
export interface Particulars {
  /** Ids of all resources of an account; absent: those of the plain resource with its operations. */
  readonly ids?: (repositories: Repositories, accountId: string) => Promise<readonly Identity[]>;
  /** The stored resource as its author wrote it, if `get` masks parts of it. */
  readonly stored?: (
    repositories: Repositories,
    accountId: string,
    id: PhysicalId,
  ) => Promise<Body | undefined>;
  /** Operation whose body a payload is, if each type has a create route of its own. */
  readonly bodyRoute?: (payload: Body) => Route;
  /** Converts the response of `get` to the form in which it is written. */
  readonly asWritten?: (shown: Body) => Body;
  /** Converts a payload to the body of the operation. */
  readonly bodyOf?: (payload: Body) => Body;
  /** Completes a desired body with values that only the stored one has: ids of parts, tokens, hidden values. */
  readonly keeping?: (desired: Body, stored: Body, addresses?: Keeping) => Body;
  /** Values of the variables in its addresses, stored and as desired. */
  readonly addresses?: (
    repositories: Repositories,
    accountId: string,
    id: PhysicalId,
    desired: Body,
  ) => Promise<Keeping>;
  /** Whether `keeping` runs before a payload is validated: its operation would reject a hidden "". */
  readonly keepsFirst?: true;
  /** Whether the stored resource must be deleted and recreated. */
  readonly isReplaced?: (desired: Body, stored: Body) => boolean;
  /**
   * Rejects references that its operation would reject: a dry run calls no operation that writes.
   *
   * @throws AppError VALIDATION_FAILED
   */
  readonly judge?: (body: Body, lookup: Lookup) => Promise<void>;
  /** Fields with a value that only one resource can have, and the placeholder while it passes to another. */
  readonly exclusive?: Readonly<Record<string, () => unknown>>;
  /** Query parameters of its create operation. */
  readonly createQuery?: Body;
}

export type ResourceKind = Kind<KindName> & Particulars & Required<Pick<Particulars, 'ids'>>;

interface AnyTable {
  readonly shape: { readonly key: string };
  listBehind(accountId: string): Promise<readonly object[]>;
}

/** Repositories of resources that belong to accounts. */
export type TableName = {
  [Name in keyof Repositories]: Repositories[Name] extends AnyTable ? Name : never;
}[keyof Repositories];

/** Ids of all resources of an account in a table, in list order. */
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

/** Whether a desired body differs from the stored one. Absent fields stay unchanged. */
export function differs(desired: Body, stored: Body): boolean {
  return Object.entries(desired).some(
    ([field, value]) => value !== undefined && !isDeepStrictEqual(value, stored[field]),
  );
}

/** Normalizes the custom domain as the store does. The operation rejects invalid host names. */
export function withHost(payload: Body): Body {
  const { customDomain } = payload;
  if (typeof customDomain !== 'string') return payload;
  return { ...payload, customDomain: customDomainOf(customDomain) ?? customDomain };
}

/** A temporary address that no other page has. */
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
