import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Trial } from './block-table.ts';
import { blocksOf } from './command-blocks.ts';
import { runInShell } from './shell.ts';

const page = 'docs/how-to/api-by-example.md';

/** Runs a block in the reader's terminal, where later blocks use what earlier ones have defined. */
const typed: Trial = async (stage, text) => {
  const defined = join(stage.folder, 'state', 'examples.sh');
  if (!existsSync(defined)) writeFileSync(defined, '');
  const names = [...readableNames()].join(' ');
  const keep = `{ declare -f; declare -p ${names} 2>/dev/null || true; } > '${defined}'`;
  const script = `source '${defined}'\n${stage.rewritten(text)}\n${keep}`;
  const { code, output } = await runInShell(script, {
    cwd: stage.copyOf(),
    environment: stage.environment(),
  });
  expect(code, output).toBe(0);
};

/** Names of variables that the page sets. */
function readableNames(): Set<string> {
  const text = blocksOf(page)
    .map((block) => block.text)
    .join('\n');
  return new Set([...text.matchAll(/^([A-Z_]+)=/gm)].map(([, name = '']) => name));
}

/** The blocks of the page on the API, in its order. */
export const exampleTests: Readonly<Record<string, Trial>> = Object.fromEntries(
  blocksOf(page).map(({ place }) => [place, typed]),
);
