import type { KeyObject } from 'node:crypto';
import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { signCheck } from '@picket/protocol/signing/check-signature.ts';
import { contentOf } from '@picket/protocol/signing/signed-run.ts';
import { type AccountResources, composedRun } from '@picket/service/checks/composed-run.ts';
import type { OpenVariable } from './account-facts.ts';

export interface SigningOptions {
  readonly key: KeyObject;
  /** Until when the signatures are valid, in milliseconds since 1970; null: as long as the key. */
  readonly notAfter: number | null;
  /** Number of the new versions. */
  readonly serial: number;
}

/** Content of a signature: one check with everything that its runs use. */
export interface ToSign {
  readonly subject: string;
  readonly type: CheckType;
  readonly definition: Record<string, unknown>;
  readonly group: Record<string, unknown> | undefined;
  readonly shared: Omit<AccountResources, 'variables'>;
  /** Variables of the account. */
  readonly openVariables: readonly OpenVariable[];
  readonly proxies: readonly string[];
}

/** Composes the runs of a check as the service will, without values that are not signed. */
export function contentToSign({ type, definition, group, shared, openVariables, proxies }: ToSign) {
  const { effective, ...run } = composedRun(
    { accountId: '', groupId: group ? 1 : null, checkType: type.name, activated: true, definition },
    group && { id: 1, accountId: '', definition: group, created: 0, updated: null },
    { ...shared, variables: openVariables.flatMap(atLocation) },
  );
  const { runtimeId } = effective.definition;
  return contentOf(
    { ...run, runtimeId: typeof runtimeId === 'string' ? runtimeId : null, proxies: [...proxies] },
    openVariables.map(({ key }) => key),
  );
}

/** Signs a check. */
export function signDefinition(check: ToSign, { key, notAfter, serial }: SigningOptions): string {
  return signCheck({ subject: check.subject, serial, notAfter, ...contentToSign(check) }, key);
}

/** A variable that gets a secret of the location; the others have values that are not signed. */
function atLocation({ key, valueFrom }: OpenVariable): AccountResources['variables'] {
  return valueFrom === null ? [] : [{ key, value: '', value_from: valueFrom, secret: 1, locked: 0 }];
}
