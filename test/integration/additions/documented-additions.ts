import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A file that a document has people write, or lines it has them add to one. */
export interface Addition {
  /** Relative to the root of the checkout. */
  readonly path: string;
  readonly text: string;
  readonly isAddedTo: boolean;
}

const block = /^```(?:ts|md)\n(?:\/\/|<!--) ((?:src|test|docs)\/\S+?)(: added)?(?: -->)?\n(.*?)^```$/gms;

/** The code blocks of a document that begin with the path of their file. */
export function additionsOf(root: string, document: string): readonly Addition[] {
  const text = readFileSync(join(root, document), 'utf8');
  return [...text.matchAll(block)].map(([, path = '', added, content = '']) => ({
    path,
    text: content,
    isAddedTo: added !== undefined,
  }));
}

/** What somebody touches who makes these additions: new folders count once, files that exist each. */
export function touchedPaths(root: string, additions: readonly Addition[]): readonly string[] {
  return [...new Set(additions.map(({ path }) => firstNew(root, path)))].sort();
}

function firstNew(root: string, path: string): string {
  let outermost = path;
  for (let folder = dirname(path); !existsSync(join(root, folder)); folder = dirname(folder))
    outermost = folder;
  return outermost;
}

/** Where the list of a registry begins. */
const listOf: Readonly<Record<string, string>> = {
  'src/checks/index.ts': 'export const checkTypes: readonly CheckType[] = [',
  'src/channels/index.ts': 'const registry = [',
  'src/protocol/projects/kinds.ts': 'const all = [',
  'src/service/resources/index.ts': 'export const resources = {',
  'src/console/registry.ts': 'export const pages: readonly Page[] = [',
};

/** A file with lines added: imports above, entries in the list of a registry, prose and rows of tables below. */
export function withAddition(before: string, { path, text }: Addition): string {
  const list = listOf[path];
  if (list === undefined) return `${before}\n${text}`;
  if (!before.includes(list)) throw new Error(`${path} has no line ${list}`);
  const lines = text.split('\n').filter((line) => line !== '');
  const imports = lines.filter((line) => line.startsWith('import '));
  const entries = lines.filter((line) => !line.startsWith('import '));
  return [...imports, before.replace(list, [list, ...entries].join('\n'))].join('\n');
}
