import { expect } from 'vitest';
import type { BlockTest, Trial } from './block-table.ts';
import { runInShell } from './shell.ts';
import type { DocumentStage } from './stage.ts';

/** Commands of a user who tries the tools without a model: one JSON response per line. */
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

/** The inspector has hundreds of packages: its requests are sent by hand instead. */
const asked = {
  reason: 'it downloads the inspector',
  proof: async (stage: DocumentStage) => {
    const list = `mcp() { curl -sS --fail-with-body -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d "$1" http://127.0.0.1:8080/mcp; }
mcp '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'`;
    const { code, output } = await runInShell(stage.rewritten(list), {
      cwd: stage.copyOf(),
      environment: stage.environment(),
    });
    expect(code, output).toBe(0);
    expect(output).toMatch(/"name":"list_open_alerts"/);
  },
};
const inspector =
  'inspector() { npx --yes @modelcontextprotocol/inspector@2.12.0 --cli --server-url http://127.0.0.1:8080/mcp --transport http --header "Authorization: Bearer $KEY" "$@"; }';

export const mcpTests: Readonly<Record<string, BlockTest>> = {
  'docs/how-to/ask-through-mcp.md#try-it-without-a-model#2': {
    [inspector]: asked,
    'inspector --method tools/list --strict': asked,
    'inspector --method tools/call --tool-name list_open_alerts --tool-arg limit=5': asked,
  },
  'docs/how-to/ask-through-mcp.md#try-it-without-a-model': asksByHand,
};
