#!/usr/bin/env node
/**
 * Entry point of the uptime image: `agent`, `doctor [--json]` or `--version`. It has nothing else, so that an agent
 * loads only its own code: no command parser, no service.
 */
import { startAgent } from '@picket/agent/start.ts';
import { AppError } from '@picket/lib/errors.ts';
import { packageVersion } from '@picket/lib/version.ts';

// As in ../cli.ts: names that do not resolve must not block all other lookups.
process.env.UV_THREADPOOL_SIZE ??= '64';

void main();

async function main(): Promise<void> {
  const [command = 'agent', ...options] = process.argv.slice(2);
  const isJson = options.length === 1 && options[0] === '--json';
  try {
    if (command === 'agent' && options.length === 0) await startAgent(process.env);
    else if (command === 'doctor' && (options.length === 0 || isJson)) {
      const { doctorCommand } = await import('./doctor-command.ts');
      process.exitCode = await doctorCommand({ json: isJson }, process.env);
    } else if (command === '--version') console.log(packageVersion());
    else {
      console.error('picket: this image has the commands "agent" and "doctor [--json]", and "--version"');
      process.exitCode = 2;
    }
  } catch (thrown) {
    const isBadInput = thrown instanceof AppError && thrown.code === 'CONFIG_INVALID';
    console.error(thrown instanceof AppError ? `picket: ${thrown.message}` : thrown);
    process.exitCode = isBadInput ? 2 : 1;
  }
}
