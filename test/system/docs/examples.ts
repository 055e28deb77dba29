import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Trial } from './block-table.ts';
import { blocksOf } from './command-blocks.ts';
import { runInShell } from './shell.ts';
import type { DocumentStage } from './stage.ts';

const page = 'docs/how-to/api-by-example.md';

/** Runs a block in the reader's terminal, where later blocks use definitions of earlier ones. */
const typed: Trial = async (stage, text) => {
  if (text.includes('sessions/')) await standsBy(stage);
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

/** Makes an agent claim at the page's location, like a reader's agent: runs that no agent can run are not queued. */
async function standsBy({ service }: DocumentStage): Promise<void> {
  const locations = await service.api<{ id: string; slugName: string }[]>('GET', '/v1/private-locations');
  const { id } = locations.find(({ slugName }) => slugName === 'branch') ?? {};
  const path = `/v1/private-locations/${id}/keys`;
  // A location has at most two keys.
  const { keys } = await service.api<{ keys: { id: string }[] }>('GET', `/v1/private-locations/${id}`);
  if (keys.length > 1) await service.api('DELETE', `${path}/${keys.at(-1)?.id}`);
  const { rawKey } = await service.api<{ rawKey: string }>('POST', path, {});
  const hello = {
    ...{ agentId: 'reader', sessionId: randomUUID(), version: '8.0.0', platform: 'test' },
    ...{ checkTypes: ['URL'], freeSlots: { probe: 0, script: 0 }, waitMs: 0 },
  };
  const { status } = await fetch(new URL('/v1/agent/claims', service.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${rawKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(hello),
  });
  expect(status).toBe(200);
}

/** Names of variables that the page sets. */
function readableNames(): Set<string> {
  const text = blocksOf(page)
    .map((block) => block.text)
    .join('\n');
  return new Set([...text.matchAll(/^([A-Z_]+)=/gm)].map(([, name = '']) => name));
}

/** The blocks of the page on the API, in order. */
export const exampleTests: Readonly<Record<string, Trial>> = Object.fromEntries(
  blocksOf(page).map(({ place }) => [place, typed]),
);
