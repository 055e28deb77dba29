import { join } from 'node:path';
import { bundledProgram, runScript } from '../../scripts/bundle/bundled-program.ts';
import { createLogger } from '../../src/lib/log.ts';
import { openStore } from '../../src/server/compose.ts';

/** Modules that tests preload into the program: they share the program's modules. */
const preloads = ['test/helpers/agent/fixtures/leave-artifacts.mjs'];
/** An SQLite database with the current schema and no rows, which tests copy. */
const migratedName = 'migrated.sqlite';

/**
 * vitest's global setup: bundles the program once, as in the image, so that the hundreds of processes that tests start
 * need not each strip types and resolve modules.
 */
export default async function compile(): Promise<void> {
  const folder = await bundledProgram('test', { preloads, finish });
  process.env.PICKET_TEST_PROGRAM = join(folder, 'lib', 'cli.js');
  process.env.PICKET_TEST_SQLITE = join(folder, migratedName);
  // The first process stores compiled modules and stripped types there for the others.
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled');
}

async function finish(folder: string): Promise<void> {
  await runScript('bundle/compile.mjs', join(folder, 'lib'), 'agent', 'service');
  const logger = createLogger('test', 'silent');
  await (await openStore({ path: join(folder, migratedName), logger })).close();
}
