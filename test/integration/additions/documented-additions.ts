import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A file that a document tells readers to create, or lines to add to a file. */
export interface Addition {
  /** Relative to the root of the checkout. */
  readonly path: string;
  readonly text: string;
  readonly isAddedTo: boolean;
}

const block = /^```(?:ts|md)\n(?:\/\/|<!--) ((?:src|test|docs)\/\S+?)(: added)?(?: -->)?\n(.*?)^```$/gms;

/** The code blocks of a document that begin with a file path. */
export function additionsOf(root: string, document: string): readonly Addition[] {
  const text = readFileSync(join(root, document), 'utf8');
  return [...text.matchAll(block)].map(([, path = '', added, content = '']) => ({
    path,
    text: content,
    isAddedTo: added !== undefined,
  }));
}

/** Paths that these additions touch: a new folder counts once, existing files count individually. */
export function touchedPaths(root: string, additions: readonly Addition[]): readonly string[] {
  return [...new Set(additions.map(({ path }) => firstNew(root, path)))].sort();
}

function firstNew(root: string, path: string): string {
  let outermost = path;
  for (let folder = dirname(path); !existsSync(join(root, folder)); folder = dirname(folder))
    outermost = folder;
  return outermost;
}

/** First line of each registry's list. */
const listOf: Readonly<Record<string, string>> = {
  'src/checks/index.ts': 'export const checkTypes: readonly CheckType[] = [',
  'src/channels/index.ts': 'const registry = [',
  'src/protocol/projects/kinds.ts': 'const all = [',
  'src/service/resources/index.ts': 'export const resources = {',
  'src/console/registry.ts': 'export const pages: readonly Page[] = [',
};

/**
 * Returns a file with lines added: imports at the top, entries in the list of a registry, prose and table rows at the
 * end.
 */
export function withAddition(before: string, { path, text }: Addition): string {
  const list = listOf[path];
  if (list === undefined) return `${before}\n${text}`;
  if (!before.includes(list)) throw new Error(`${path} has no line ${list}`);
  const lines = text.split('\n').filter((line) => line !== '');
  const imports = lines.filter((line) => line.startsWith('import '));
  const entries = lines.filter((line) => !line.startsWith('import '));
  return [...imports, before.replace(list, [list, ...entries].join('\n'))].join('\n');
}
