import { findCheckType } from '@picket/checks/index.ts';
import { outweighedHours, outweighedSettings } from '@picket/protocol/checks/outweighed.ts';
import type { Warning } from '@picket/protocol/http/warning.ts';
import { weakSecret, weakSecrets } from '@picket/protocol/http/weak-secrets.ts';
import { kinds } from '@picket/protocol/projects/kinds.ts';
import type { ProjectResource } from './resources.ts';

/** A part of the files that has no effect, or less than it seems to have. */
export interface FileWarning {
  readonly file: string;
  readonly field: string;
  readonly message: string;
}

const runners: ReadonlySet<string> = new Set(['check', 'check-group']);

/** Returns what the service will warn about, as far as the files show it. */
export function fileWarnings(resources: readonly ProjectResource[]): FileWarning[] {
  return resources.flatMap((resource) =>
    [...weakSecretsOf(resource), ...outweighedIn(resource)].map(({ message, field = '' }) => ({
      file: resource.sourceFile,
      field,
      message,
    })),
  );
}

/** Hidden values that agents cannot mask, or not everywhere. */
function weakSecretsOf({ type, payload }: ProjectResource): Warning[] {
  const masked = kinds.find((kind) => kind.type === type)?.masked(payload) ?? [];
  if (type === 'variable' && masked.length > 0) {
    return weakSecret({
      field: 'value',
      name: String(payload['key']),
      value: String(payload['value'] ?? ''),
    });
  }
  return runners.has(type) ? weakSecrets(masked, payload) : [];
}

/** Settings that others of the same file outweigh. */
function outweighedIn({ type, payload }: ProjectResource): Warning[] {
  if (type === 'check-group') return outweighedHours(payload['activeHours']);
  const checkType = type === 'check' ? findCheckType(String(payload['checkType'])) : undefined;
  return checkType ? outweighedSettings(checkType, payload) : [];
}

/** Formats such warnings for people. */
export function warningLines(warnings: readonly FileWarning[]): string[] {
  return warnings.map(({ file, message }) => `Warning: ${file}: ${message}`);
}
