/**
 * A minimal agent for egress.test.ts: opens one sandbox with an egress policy, runs a script in it, and prints the
 * result. `node egress-main.ts FILE`, a JSON object with mechanism, directory, egress, script and modules.
 */
import { readFileSync, statSync } from 'node:fs';
import { openSandboxes } from '../../../src/sandbox/pool/pool.ts';

const order = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
const pool = await openSandboxes({
  directory: order.directory,
  slotCount: 1,
  firstUid: 31_000,
  mechanism: order.mechanism,
  egress: order.egress,
});
const sandbox = await pool.acquire(AbortSignal.timeout(60_000));
let output = '';
await sandbox.write('main.cjs', order.script);
if (order.modules) await sandbox.link('node_modules', order.modules);
const running = sandbox.start({
  path: pool.facts.nodePath,
  args: ['main.cjs'],
  environment: {},
  limits: {
    memoryBytes: 2 ** 31,
    wallMs: 90_000,
    cpuMs: 200_000,
    processCount: 512,
    outputBytes: 2 ** 20,
    diskBytes: 2 ** 28,
  },
  onOutput: (_stream, chunk) => {
    output += chunk.toString('utf8');
  },
});
running.input.end();
const end = await running.ended;
await sandbox.release();
const { facts } = pool;
// If /proc belongs to a container, its owner could make the kernel kill this process first.
const ownerUid = statSync(`/proc/${process.pid}/oom_score_adj`).uid;
await pool.close();
process.stdout.write(JSON.stringify({ output, end, facts, ownerUid }));
