/**
 * Stands for `docker`, `kubectl` and `helm` when blocks of the documents are run where there are no containers: it notes how it was
 * called, and what was read from it, in the file CALLS. `docker compose up` starts service and agent as processes, with the secrets
 * that the block before it has made, so that what follows in the block has something to talk to.
 */
import { spawn } from 'node:child_process';
import { appendFileSync, openSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const { CALLS = '', SERVICE_PORT = '', HEALTH_PORT = '', STATE = '', PATH = '' } = process.env;
const [program = '', ...args] = process.argv.slice(2);
const pids: number[] = [];
if (program === 'docker' && args[0] === 'compose' && args[1] === 'up') {
  const secret = (name: string) => resolve('secrets', name);
  const names = args.slice(2);
  if (names.includes('service')) {
    await start('service', `http://127.0.0.1:${SERVICE_PORT}/-/readiness`, {
      PORT: SERVICE_PORT,
      DATA_DIR: join(STATE, 'data'),
      BOOTSTRAP_API_KEY_FILE: secret('api-key'),
    });
  }
  if (names.includes('agent')) {
    await start('agent', `http://127.0.0.1:${HEALTH_PORT}/-/readiness`, {
      AGENT_HEALTH_PORT: HEALTH_PORT,
      SERVICE_URL: `http://127.0.0.1:${SERVICE_PORT}`,
      API_KEY_FILE: secret('location-key'),
      CHECK_TYPES: 'URL',
      SPOOL_DIR: STATE,
    });
  }
}
appendFileSync(CALLS, `${JSON.stringify({ program, args, cwd: process.cwd(), pids })}\n`);

/** Starts a part and waits until it is ready; it goes on after this process has ended. */
async function start(role: string, url: string, variables: Record<string, string>): Promise<void> {
  const log = openSync(join(STATE, `${role}.log`), 'w');
  const cli = join(import.meta.dirname, '../../../src/cli.ts');
  const child = spawn(process.execPath, [cli, role], {
    detached: true,
    stdio: ['ignore', log, log],
    env: { PATH, LOG_LEVEL: 'warn', ...variables },
  });
  if (child.pid !== undefined) pids.push(child.pid);
  child.unref();
  while (!(await isReady(url))) {
    if (child.exitCode !== null) throw new Error(`the ${role} ended; see ${STATE}`);
    await delay(50);
  }
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(1000) })).ok;
  } catch {
    return false; // not listening yet
  }
}
