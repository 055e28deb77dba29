import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { freePort } from '../../helpers/free-port.ts';
import type { Trial } from './block-table.ts';
import { root } from './command-blocks.ts';
import { type RunningCommand, runInShell } from './shell.ts';
import type { DocumentStage } from './stage.ts';

const page = 'docs/tutorial/first-check.md';

/** The terminals of the tutorial with running programs; the third one is the reader's. */
interface Terminals {
  readonly start: RunningCommand;
  readonly startDir: string;
  readonly shopPort: number;
  shop?: RunningCommand;
}

const opened = new WeakMap<DocumentStage, Terminals>();

function terminalsOf(stage: DocumentStage): Terminals {
  const terminals = opened.get(stage);
  if (!terminals) throw new Error('the first block of the tutorial did not run');
  return terminals;
}

/** Runs a block in the reader's terminal, where later blocks can use definitions of earlier ones. */
async function typed(stage: DocumentStage, text: string): Promise<string> {
  const { startDir, shopPort } = terminalsOf(stage);
  const state = JSON.parse(readFileSync(join(startDir, 'start.json'), 'utf8')) as { servicePort: number };
  const commands = text
    .replaceAll('.picket/', `${startDir}/`)
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${state.servicePort}`)
    .replaceAll('127.0.0.1:9000', `127.0.0.1:${shopPort}`);
  const defined = join(stage.folder, 'state', 'defined.sh');
  if (!existsSync(defined)) writeFileSync(defined, '');
  const keep = `{ declare -f; declare -p KEY CHECK CHANNEL SERVICE 2>/dev/null || true; } > '${defined}'`;
  const { code, output } = await runInShell(`source '${defined}'\n${commands}\n${keep}`, {
    cwd: root,
    environment: stage.environment(),
  });
  expect(code, output).toBe(0);
  return output;
}

const answers =
  (expected: RegExp): Trial =>
  async (stage, text) =>
    expect(await typed(stage, text)).toMatch(expected);

/** After the block the other two terminals show what the page says. */
const makesSeen =
  (inStart: RegExp, inShop: RegExp): Trial =>
  async (stage, text) => {
    const { start, shop } = terminalsOf(stage);
    await typed(stage, text);
    await start.until((output) => inStart.test(output));
    await shop?.until((output) => inShop.test(output));
  };

/** The blocks of the tutorial in order: each continues where the previous one stopped. */
export const tutorialTests: Readonly<Record<string, Trial>> = {
  [`${page}#1-start-picket`]: async (stage, text) => {
    const startDir = join(stage.folder, 'state', 'tutorial');
    const start = stage.keepRunning(text, { PICKET_START_DIR: startDir });
    opened.set(stage, { start, startDir, shopPort: await freePort() });
    await start.until((output) => /^PASSED /m.test(output));
    // "Everything Picket stored is in .picket/": queued results, too.
    expect(readdirSync(join(startDir, 'spool'))).toEqual([expect.stringMatching(/^picket-spool\./)]);
  },
  [`${page}#2-start-something-to-monitor`]: async (stage, text) => {
    const terminals = terminalsOf(stage);
    terminals.shop = stage.keepRunning(text, { SHOP_PORT: String(terminals.shopPort) });
    await terminals.shop.until((output) => /^The shop is at /m.test(output));
  },
  [`${page}#3-create-a-check`]: answers(/"hasFailures":/),
  [`${page}#3-create-a-check#2`]: makesSeen(/^PASSED .*My shop/m, /^/),
  [`${page}#3-create-a-check#3`]: answers(/"name":"My shop".*"hasFailures":false/),
  [`${page}#4-add-an-alert`]: answers(/"activated":true/),
  [`${page}#5-add-a-status-page`]: answers(/"triggerIncident":\{"serviceId"/),
  [`${page}#5-add-a-status-page#2`]: answers(/^"state":"OPERATIONAL"$/m),
  [`${page}#6-break-it`]: makesSeen(
    /^FAILED .*My shop {2}STATUS_UNEXPECTED: Unexpected status 503/m,
    /^alert: My shop has failed$/m,
  ),
  [`${page}#6-break-it#2`]: answers(/"hasFailures":true.*"actual":503/),
  [`${page}#7-fix-it`]: makesSeen(
    /^FAILED .*My shop[\s\S]*^PASSED .*My shop/m,
    /^alert: My shop has recovered$/m,
  ),
};
