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

/** Returns the hidden values of files that agents cannot mask, or not everywhere, as the service will report them. */
export function weakSecretsOf(resources: readonly ProjectResource[]): FileWarning[] {
  return resources.flatMap(({ type, payload, sourceFile: file }) => {
    const masked = kinds.find((kind) => kind.type === type)?.masked(payload) ?? [];
    const found =
      type === 'variable' && masked.length > 0
        ? weakSecret({
            field: 'value',
            name: String(payload['key']),
            value: String(payload['value'] ?? ''),
          })
        : runners.has(type)
          ? weakSecrets(masked, payload)
          : [];
    return found.map(({ message, field = '' }) => ({ file, field, message }));
  });
}

/** Formats such warnings for people. */
export function warningLines(warnings: readonly FileWarning[]): string[] {
  return warnings.map(({ file, message }) => `Warning: ${file}: ${message}`);
}
