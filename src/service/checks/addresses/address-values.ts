import { maskedValues } from '@picket/checks/contract/definition/definition.ts';
import { movedFields, type ValuesAround } from '@picket/checks/contract/masking.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { AppError } from '@picket/lib/errors.ts';
import type { AddressValues } from '@picket/lib/wire/address-origin.ts';
import type { AccountCaller } from '@picket/platform/ids/callers.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { GroupDefinition } from '@picket/protocol/checks/check-group.ts';
import { completeGroup, groupOf, groupsOf, withGroup } from '../effective-check.ts';
import type { CheckGroup } from '../groups/store.ts';
import type { Check } from '../store.ts';

/** A variable of an account, a group, a check or a session. */
interface Variable {
  readonly key: string;
  readonly value?: string | null | undefined;
}

type Member = Pick<Check, 'accountId' | 'groupId' | 'checkType' | 'activated' | 'definition'> & {
  readonly id: string;
  readonly name: string;
};

/** A check with its group's settings applied, and the known values of variables in its address. */
interface Addressed {
  readonly check: Member;
  readonly values: AddressValues;
}

/** Of variables with the same name the last one wins, as in runs: account, group, check, session. */
function addressed(
  check: Member,
  group: Pick<CheckGroup, 'definition' | 'accountId'> | undefined,
  account: readonly Variable[],
  session: readonly Variable[] = [],
): Addressed {
  const effective = withGroup(check, group as CheckGroup | undefined);
  const defaults = findCheckType(check.checkType)?.groupDefaults;
  const settings = group && completeGroup(group);
  const fromGroup =
    settings && defaults
      ? defaults.variables(settings[defaults.field as keyof GroupDefinition] as Record<string, unknown>)
      : {};
  const own = effective.definition.environmentVariables;
  return {
    check: effective,
    values: {
      CHECK_NAME: check.name,
      ...byKey(account),
      ...fromGroup,
      ...byKey(Array.isArray(own) ? (own as Variable[]) : []),
      ...byKey(session),
    },
  };
}

function byKey(variables: readonly Variable[]): Record<string, string> {
  return Object.fromEntries(variables.map(({ key, value }) => [key, value ?? '']));
}

/** Value of a variable of the account, or the secret of locations that is its value. */
interface AccountValue {
  readonly value: string;
  readonly value_from: string | null;
}

/** The text of a value for comparisons of addresses; a secret of a location is unknown here, and like no other value. */
function textOf({ value, value_from: from }: AccountValue): string {
  return from === null ? value : `${from}.of-the-location.invalid`;
}

async function accountVariables(
  { variables }: Pick<Repositories, 'variables'>,
  accountId: string,
): Promise<{ readonly key: string; readonly value: string }[]> {
  const rows = await variables.ofAccounts([accountId]);
  return rows.map((row) => ({ key: row.key, value: textOf(row) }));
}

/** The part of a definition to be stored that determines the values of variables in its address. */
export function asWritten(
  definition: Readonly<Record<string, unknown>>,
): Pick<Member, 'groupId' | 'definition'> {
  const { groupId } = definition;
  return { definition, groupId: typeof groupId === 'number' ? groupId : null };
}

/** Values in the address of a check before and after a change. */
export async function keepingOf(
  repositories: Pick<Repositories, 'groups' | 'variables'>,
  stored: Member,
  written: Pick<Member, 'groupId' | 'definition'>,
  { group, session }: { readonly group?: GroupDefinition; readonly session?: readonly Variable[] } = {},
): Promise<ValuesAround> {
  const { accountId } = stored;
  await keepSources(repositories, accountId, [stored, written]);
  const account = await accountVariables(repositories, accountId);
  const groups = await groupsOf(repositories, [stored, { ...stored, ...written }]);
  const { name = stored.name } = written.definition as { name?: string };
  const after = { ...stored, ...written, name };
  const ofAfter = group ? { definition: group, accountId } : groupOf(after, groups);
  return {
    valuesBefore: addressed(stored, groupOf(stored, groups), account).values,
    valuesAfter: addressed(after, ofAfter, account, session).values,
  };
}

/**
 * Locks the sources of addresses with templates until the transaction ends: a concurrent change of a variable would not
 * see these addresses.
 */
async function keepSources(
  { groups, variables }: Pick<Repositories, 'groups' | 'variables'>,
  accountId: string,
  checks: readonly Pick<Member, 'groupId' | 'definition'>[],
): Promise<void> {
  const templated = checks.filter(({ definition }) => addressIn(definition).includes('{{'));
  if (templated.length === 0) return;
  const names = templated.flatMap(({ definition }) => addressIn(definition).match(/[\w.-]+/g) ?? []);
  await groups.keep(
    accountId,
    templated.flatMap(({ groupId }) => groupId ?? []),
  );
  await variables.keep(accountId, names);
}

function addressIn({ request }: Readonly<Record<string, unknown>>): string {
  const { url } = (request ?? {}) as { readonly url?: unknown };
  return typeof url === 'string' ? url : '';
}

/**
 * Refuses a change of a group if its variables or base address would send hidden values of its checks to another
 * destination: no request exists in which they could be entered again.
 *
 * @throws AppError ADMIN_ONLY
 */
export async function refuseMovedByGroup(
  repositories: Pick<Repositories, 'checks' | 'variables'>,
  caller: AccountCaller,
  before: CheckGroup,
  after: CheckGroup,
): Promise<void> {
  if (caller.role === 'ADMIN') return;
  const checks = await repositories.checks.withTemplates(caller.accountId, { groupId: before.id });
  if (checks.length === 0) return;
  const account = await accountVariables(repositories, caller.accountId);
  refuse(
    caller,
    checks.map((check) => [addressed(check, before, account), addressed(check, after, account)]),
  );
}

/**
 * Same for a variable of the account.
 *
 * @param value null if the variable is deleted.
 * @throws AppError ADMIN_ONLY
 */
export async function refuseMovedByVariable(
  repositories: Pick<Repositories, 'checks' | 'groups' | 'variables'>,
  caller: AccountCaller,
  key: string,
  value: AccountValue | null,
): Promise<void> {
  if (caller.role === 'ADMIN') return;
  const before = await accountVariables(repositories, caller.accountId);
  const valueAfter = value && textOf(value);
  if (before.some((one) => one.key === key && one.value === valueAfter)) return;
  const checks = await repositories.checks.withTemplates(caller.accountId, { name: key });
  if (checks.length === 0) return;
  const groups = await groupsOf(repositories, checks);
  const others = before.filter((one) => one.key !== key);
  const after = valueAfter === null ? others : [...others, { key, value: valueAfter }];
  refuse(
    caller,
    checks.map((check) => {
      const group = groupOf(check, groups);
      return [addressed(check, group, before), addressed(check, group, after)];
    }),
  );
}

/**
 * Same for the variables of a test session.
 *
 * @throws AppError ADMIN_ONLY
 */
export async function refuseMovedBySession(
  repositories: Pick<Repositories, 'groups' | 'variables'>,
  caller: AccountCaller,
  checks: readonly Member[],
  session: readonly Variable[],
): Promise<void> {
  if (caller.role === 'ADMIN' || session.length === 0) return;
  const account = await accountVariables(repositories, caller.accountId);
  const groups = await groupsOf(repositories, checks);
  refuse(
    caller,
    checks.map((check) => {
      const group = groupOf(check, groups);
      return [addressed(check, group, account), addressed(check, group, account, session)];
    }),
  );
}

const namesInMessage = 3;

function refuse(
  { role }: AccountCaller,
  changes: readonly (readonly [before: Addressed, after: Addressed])[],
): void {
  const moved = changes.flatMap(([before, after]) => {
    const type = findCheckType(before.check.checkType);
    const fields = type
      ? movedFields(maskedValues(type), before.check.definition, before.values, after.values)
      : [];
    return fields.length > 0 ? [before.check.name] : [];
  });
  if (moved.length === 0) return;
  const named = moved.slice(0, namesInMessage).map((name) => `"${name}"`);
  const more = moved.length > namesInMessage ? ` and ${moved.length - namesInMessage} more` : '';
  throw new AppError(
    'ADMIN_ONLY',
    `Hidden values of ${named.join(', ')}${more} would be sent to another address, because a variable in the address changes. ` +
      `This needs the role ADMIN; yours is ${role}. Values that may go to any address belong in secret variables.`,
  );
}
