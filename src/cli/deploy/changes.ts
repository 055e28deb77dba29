import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '@picket/lib/json/record.ts';
import type { Fields } from '@picket/protocol/projects/kind.ts';
import { type Folder, kindIn, kinds } from '@picket/protocol/projects/kinds.ts';
import type { Change } from '@picket/protocol/projects/project.ts';
import { readCheckSignature } from '@picket/protocol/signing/check-signature.ts';
import { canonicalFile } from '../project/canonical.ts';
import { EnvironmentValue, mapEnvironmentValues } from '../project/environment-values.ts';
import { exportAccount, type Stored } from '../project/export.ts';
import { type Project, pathOf } from '../project/project.ts';

/** Effect of a deployment on the resource of one file. */
export interface PlannedChange {
  /** REPLACE: the resource is deleted together with its dependents and created again. */
  readonly action: 'CREATE' | 'UPDATE' | 'REPLACE' | 'DELETE' | 'DETACHED';
  readonly file: string;
  /** The fields that differ, as far as both sides are known: the account's value and the file's value. */
  readonly fields: readonly FieldChange[];
}

export interface FieldChange {
  readonly field: string;
  readonly account: unknown;
  readonly file: unknown;
}

/** Returns the file of a deployment's change: subscriptions are lines of their owner's file. */
export function fileOf({ type, logicalId }: Pick<Change, 'type' | 'logicalId'>): {
  readonly folder: Folder;
  readonly logicalId: string;
  readonly part: string | undefined;
} {
  const kind = kinds.find((one) => one.type === type);
  if (kind) return { folder: kind.folder, logicalId, part: undefined };
  const [, owner = '', id = logicalId, part = ''] =
    /^(check|check-group)-alert-channel-subscription#(.*)#([^#]*)$/.exec(logicalId) ?? [];
  return { folder: owner === 'check-group' ? 'groups' : 'checks', logicalId: id, part };
}

/**
 * Groups the changes of a deployment by file, with the fields that differ. References are compared only if the names of
 * their targets are known.
 *
 * @param stored the resources to update, as the account has them.
 */
export function plannedChanges(
  diff: readonly Change[],
  project: Project,
  stored: readonly Stored[],
): PlannedChange[] {
  const names = new Map(
    diff.flatMap((change) =>
      change.physicalId === undefined ? [] : [[nameKey(change), change.logicalId] as const],
    ),
  );
  const inAccount = new Map(
    exportAccount(stored, (folder, id) => names.get(`${folder}/${id}`)).definitions.map((one) => [
      pathOf(one),
      one.fields,
    ]),
  );
  const planned = new Map<string, PlannedChange>();
  for (const change of diff) {
    const { folder, logicalId, part } = fileOf(change);
    const file = pathOf({ folder, logicalId });
    const present = planned.get(file);
    if (part !== undefined) {
      const isGone = change.action === 'DELETE' || change.action === 'DETACHED';
      const line: FieldChange = {
        field: 'alertChannels',
        account: isGone ? part : undefined,
        file: isGone ? undefined : part,
      };
      if (present && present.action !== 'UPDATE') continue;
      planned.set(file, { action: 'UPDATE', file, fields: [...(present?.fields ?? []), line] });
      continue;
    }
    const written = project.definitions.find((one) => one.folder === folder && one.logicalId === logicalId);
    const before = inAccount.get(file);
    const fields =
      change.action === 'UPDATE' && written && before ? differences(folder, before, written.fields) : [];
    const isReplaced = present?.action === 'DELETE' && change.action === 'CREATE';
    planned.set(file, {
      action: isReplaced ? 'REPLACE' : change.action,
      file,
      fields: [...(present?.fields ?? []), ...fields],
    });
  }
  return [...planned.values()].toSorted((one, other) => (one.file < other.file ? -1 : 1));
}

function nameKey(change: Change): string {
  return `${fileOf(change).folder}/${change.physicalId}`;
}

/** Compares two sides. References are omitted: one side has ids in place of names. */
function differences(folder: Folder, account: Fields, file: Fields): FieldChange[] {
  const kind = kindIn(folder);
  const references = new Set(kind.references.map(({ file: field }) => field.split('.')[0] ?? ''));
  const shown = (fields: Fields) => mapEnvironmentValues(fields, (one) => hidden(one)) as Fields;
  const before = shown(account);
  const after = shown(withHidden(canonicalFile(kind, file), file) as Fields);
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) => {
    if (references.has(key) || key === 'privateLocations') return [];
    return deepDifferences(key, before[key], after[key]);
  });
}

const hiddenText = '(hidden)';

function hidden(_value: EnvironmentValue): string {
  return hiddenText;
}

/** Marks the values that a file reads from the environment. */
function withHidden(canonical: unknown, written: unknown): unknown {
  if (written instanceof EnvironmentValue) return written;
  if (Array.isArray(written) && Array.isArray(canonical)) {
    return canonical.map((item, index) => withHidden(item, written[index]));
  }
  if (
    typeof written !== 'object' ||
    written === null ||
    typeof canonical !== 'object' ||
    canonical === null
  ) {
    return canonical;
  }
  return Object.fromEntries([
    ...Object.entries(canonical).map(([key, value]) => [key, withHidden(value, (written as Fields)[key])]),
    ...Object.entries(written).filter(
      ([key, value]) => value instanceof EnvironmentValue && !(key in canonical),
    ),
  ]);
}

/** Names the key of a signature: the text itself says nothing to people. */
function signatureText(value: unknown): unknown {
  const signature = typeof value === 'string' ? readCheckSignature(value) : undefined;
  return signature ? `key ${signature.keyId}, ${new Date(signature.statement.serial).toISOString()}` : value;
}

function deepDifferences(field: string, account: unknown, file: unknown): FieldChange[] {
  if (isDeepStrictEqual(account, file)) return [];
  if (field === 'signature') return [{ field, account: signatureText(account), file: signatureText(file) }];
  if (account === hiddenText || file === hiddenText) return [];
  if (isRecord(account) && isRecord(file)) {
    return [...new Set([...Object.keys(account), ...Object.keys(file)])].flatMap((key) =>
      deepDifferences(`${field}.${key}`, account[key], file[key]),
    );
  }
  return [{ field, account, file }];
}
