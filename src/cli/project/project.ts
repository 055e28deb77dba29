import type { Fields } from '@picket/protocol/projects/kind.ts';
import type { Folder } from '@picket/protocol/projects/kinds.ts';

/** What one file of a project says. */
export interface Definition {
  readonly folder: Folder;
  /** The name of the file without its ending: by it others name this one, and deployments know it again. */
  readonly logicalId: string;
  /** As the file has them; values may be `EnvironmentValue`. */
  readonly fields: Fields;
}

/** A folder of files: everything of an account, or the part of it that these files look after. */
export interface Project {
  readonly logicalId: string;
  readonly name: string;
  readonly definitions: readonly Definition[];
}

/** Where a definition is, seen from the folder of the project. */
export function pathOf({ folder, logicalId }: Pick<Definition, 'folder' | 'logicalId'>): string {
  return `${folder}/${logicalId}.yaml`;
}

/** A name for a file, from what people call a thing: other than all those that are taken. */
export function logicalIdOf(name: string, taken: ReadonlySet<string>): string {
  const plain = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 60)
    .replace(/-+$/, '');
  const base = plain === '' ? 'unnamed' : plain;
  for (let count = 1; ; count += 1) {
    const candidate = count === 1 ? base : `${base}-${count}`;
    if (!taken.has(candidate)) return candidate;
  }
}
