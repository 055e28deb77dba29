/**
 * Runs the `docker run` lines of README.md and docs/how-to/install.md, and those of the page "Get started", as they are
 * printed: `node scripts/setup.mjs scripts/images/smoke.ts [--only README.md]`. The images must exist: `npm run images`.
 *
 * An engine without a bridge network runs the containers in the network of the host; the lines are the same otherwise.
 * Not part of CI, which has no engine.
 */
import { parseArgs } from 'node:util';
import { run } from './command.ts';
import { documentedStarts, pageStarts } from './documented-commands.ts';
import { DocumentedStage } from './documented-stage.ts';
import { findEngine } from './engine.ts';

const { values } = parseArgs({ options: { only: { type: 'string' } } });
const engine = await findEngine('docker');
await using stage = await DocumentedStage.open(engine);
const surroundings = stage.surroundings;
const composes = ['docker compose', 'docker-compose'] as const;
const versions = await Promise.all(composes.map((compose) => run('sh', ['-c', `${compose} version`])));
const compose = composes.find((_, index) => versions[index]?.code === 0);
if (compose !== 'docker compose')
  console.log('Without "docker compose" (Compose 2), its file is tried by Compose 1, or not at all.');
const starts = [...documentedStarts(surroundings), ...pageStarts(surroundings, 'smoke', compose)].filter(
  ({ place }) => values.only === undefined || place === values.only,
);
let failed = starts.length === 0 ? 1 : 0;
for (const start of starts) failed += await stage.tryStart(start);
console.log(failed === 0 ? `All ${starts.length} commands work.` : `${failed} expectations failed.`);
process.exitCode = failed === 0 ? 0 : 1;
