import { expect } from 'vitest';
import type { Trial } from './block-table.ts';
import { runInShell } from './shell.ts';

/** What somebody types who looks at the tools without a model: an answer in JSON for each line. */
const asksByHand: Trial = async (stage, text) => {
  const { code, output } = await runInShell(stage.rewritten(text), {
    cwd: stage.copyOf(),
    environment: stage.environment(),
  });
  expect(code, output).toBe(0);
  expect(output).toContain('"name":"list_checks"');
  expect(output.match(/"isError":true/g)).toBeNull();
  expect(output.match(/"jsonrpc":"2.0"/g)).toHaveLength(3);
};

export const mcpTests: Readonly<Record<string, Trial>> = {
  'docs/how-to/ask-through-mcp.md#try-it-without-a-model': asksByHand,
};
