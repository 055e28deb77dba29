#!/usr/bin/env node
/**
 * What the uptime image runs: an agent and nothing else, so that nothing else is loaded. `agent` is accepted as argument, because
 * that is what the command is called where there are others; `--version` prints the version.
 */
import { runAgent } from './agent/main.ts';
import { AppError } from './lib/errors.ts';
import { packageVersion } from './lib/version.ts';

const argument = process.argv[2] ?? 'agent';
// As in cli.ts: lookups of dead names must not hold up all others.
process.env.UV_THREADPOOL_SIZE ??= '64';

if (argument === '--version') console.log(packageVersion());
else if (argument === 'agent' && process.argv.length <= 3) await startAgent();
else {
  console.error(
    `picket: this image runs agents only: there is no command ${process.argv.slice(2).join(' ')}`,
  );
  process.exitCode = 2;
}

async function startAgent(): Promise<void> {
  try {
    await runAgent(process.env);
  } catch (thrown) {
    const isConfig = thrown instanceof AppError && thrown.code === 'CONFIG_INVALID';
    console.error(thrown instanceof AppError ? `picket: ${thrown.message}` : thrown);
    process.exitCode = isConfig ? 2 : 1;
  }
}
