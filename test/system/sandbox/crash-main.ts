/** An agent that starts a program with a daemon in each sandbox, reports it, and waits to be killed. */
import type { SandboxMechanism } from '../../../src/sandbox/mechanism.ts';
import { openSandboxes } from '../../../src/sandbox/pool/pool.ts';
import { abuseLimits } from './abuse-cases.ts';
import { supervisorPidOf } from './processes.ts';

const [mechanism, directory = '', firstUid] = process.argv.slice(2);
const pool = await openSandboxes({
  directory,
  slotCount: 2,
  firstUid: Number(firstUid),
  mechanism: mechanism as SandboxMechanism,
});
for (let slot = 0; slot < 2; slot += 1) {
  const sandbox = await pool.acquire(AbortSignal.timeout(5000));
  await new Promise<void>((resolve) => {
    sandbox.start({
      path: '/bin/sh',
      args: ['-c', 'sleep 1000 & setsid sleep 1000 & echo on; wait'],
      environment: {},
      limits: { ...abuseLimits, wallMs: 600_000 },
      onOutput: () => resolve(),
    });
  });
}
console.log(JSON.stringify({ supervisorPid: supervisorPidOf(process.pid) }));
setInterval(() => undefined, 1000);
