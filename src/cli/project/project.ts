import type { Fields } from '@picket/protocol/projects/kind.ts';
import type { Folder } from '@picket/protocol/projects/kinds.ts';

/** Content of one file of a project. */
export interface Definition {
  readonly folder: Folder;
  /** The name of the file without its extension: other files refer to it by this name, and deployments recognize it. */
  readonly logicalId: string;
  /** As in the file, with short forms written out; values may be `EnvironmentValue`. */
  readonly fields: Fields;
  /** Short forms that cannot be read, each with its field. */
  readonly problems?: readonly string[];
}

/** A folder of files: everything of an account, or the part that these files manage. */
export interface Project {
  readonly logicalId: string;
  readonly name: string;
  readonly definitions: readonly Definition[];
}

/** Returns the path of a definition, relative to the folder of the project. */
export function pathOf({ folder, logicalId }: Pick<Definition, 'folder' | 'logicalId'>): string {
  return `${folder}/${logicalId}.yaml`;
}

/** Derives a name for a file from the title of a resource, different from all names in use. */
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
