import { isDeepStrictEqual } from 'node:util';
import { completeDefinition, maskedValues } from '@picket/checks/contract/definition/definition.ts';
import { type Keeping, keepMasked } from '@picket/checks/contract/masking.ts';
import { checkTypeNames, findCheckType } from '@picket/checks/index.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import { typedCheckRoutes } from '@picket/protocol/checks/check.ts';
import { maskedInGroups } from '@picket/protocol/checks/check-group.ts';
import { readCheckSignature } from '@picket/protocol/signing/check-signature.ts';
import { asWritten, keepingOf } from '../../checks/addresses/address-values.ts';
import { completeGroup } from '../../checks/effective-check.ts';
import { type Body, idsIn, type Particulars } from './kind.ts';

const pageSize = 100;
/** Subscriptions define which channels are alerted. */
const createQuery = { autoAssignAlerts: 'false' } as const;

export const checkGroups: Particulars = {
  ids: idsIn('groups'),
  stored: async (repositories, accountId, id) => {
    const group = await repositories.groups.find(accountId, Number(id));
    return group && completeGroup(group);
  },
  // Version of the format in which clients write groups: both are equivalent here.
  bodyOf: ({ v: _, ...payload }) => payload,
  keeping: (desired, stored) => keepMasked(maskedInGroups, desired, stored),
  createQuery,
};

export const checks: Particulars = {
  ids: async (repositories, accountId) => {
    const ids: string[] = [];
    for (;;) {
      const page = await repositories.checks.list(accountId, {}, { limit: pageSize, offset: ids.length });
      ids.push(...page.checks.map(({ id }) => id));
      if (page.checks.length < pageSize) return ids.map((id) => ({ physicalId: id, shownId: id }));
    }
  },
  stored: async (repositories, accountId, id) => {
    const check = await repositories.checks.find(accountId, String(id));
    if (!check) return undefined;
    const { checkType, definition } = check;
    return { ...completeDefinition(findCheckType(checkType), definition), checkType };
  },
  bodyRoute: routeOfType,
  // Settings for repairs by a model, which this service does not do.
  bodyOf: ({ intent: _intent, aiAutoRepairEnabled: _repair, ...payload }) => payload,
  keeping,
  addresses: async (repositories, accountId, id, desired) => {
    const check = await repositories.checks.find(accountId, String(id));
    return check ? keepingOf(repositories, check, asWritten(desired)) : {};
  },
  isReplaced: (desired, stored) => desired.checkType !== stored.checkType,
  createQuery,
};

/** Whether two signatures of one key differ only in their number, as those of two deployments of the same files. */
function saysTheSame(desired: unknown, stored: unknown): boolean {
  if (typeof desired !== 'string' || typeof stored !== 'string') return false;
  const [next, last] = [readCheckSignature(desired), readCheckSignature(stored)];
  if (!next || !last || next.keyId !== last.keyId) return false;
  return isDeepStrictEqual({ ...next.statement, serial: 0 }, { ...last.statement, serial: 0 });
}

function routeOfType({ checkType }: Body) {
  const routes = typeof checkType === 'string' ? typedCheckRoutes.get(checkType) : undefined;
  if (routes?.create) return routes.create;
  const message = `must be one of [${checkTypeNames.join(', ')}]`;
  throw fieldError('payload', [{ key: 'checkType', message }]);
}

function keeping(desired: Body, stored: Body, addresses?: Keeping): Body {
  const type = findCheckType(String(desired.checkType));
  if (!type || desired.checkType !== stored.checkType) return desired;
  const unmasked = {
    ...keepMasked(maskedValues(type), desired, stored, addresses),
    ...(saysTheSame(desired.signature, stored.signature) ? { signature: stored.signature } : {}),
  };
  // Clients upload snapshots when they deploy, and send none when they request a preview.
  const kept = desired.snapshots === null ? { ...unmasked, snapshots: stored.snapshots } : unmasked;
  if (!type.pings) return kept;
  // The ping address is kept as long as the check exists.
  const token = type.pings.expectation(desired).token ?? type.pings.expectation(stored).token;
  return { ...kept, ...type.pings.addressed(kept, { token, url: null }) };
}
