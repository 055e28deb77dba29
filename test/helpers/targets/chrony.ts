import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../free-port.ts';
import { until } from '../picket-process.ts';

/** Reason why tests that need chrony cannot run here, or null. In CI, missing chrony is an error. */
export function whyNoChrony(): string | null {
  if (!spawnSync('chronyd', ['-v'], { stdio: 'ignore' }).error) return null;
  const reason = 'no chronyd on this machine (Debian: chrony)';
  if (process.env.CI === 'true') throw new Error(reason);
  return reason;
}

/**
 * Starts Debian's time server on a free loopback port. It leaves the clock of this host alone.
 *
 * @param lines directives of chrony.conf, such as `local stratum 5`; without one that gives it a time, it has none.
 */
export async function startChrony(
  lines: readonly string[],
): Promise<AsyncDisposable & { readonly port: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'picket-chrony-'));
  const port = await freePort();
  const file = join(folder, 'conf');
  const common = [
    `port ${port}`,
    'bindaddress 127.0.0.1',
    'allow 127.0.0.0/8',
    'cmdport 0',
    'bindcmdaddress /',
    `pidfile ${folder}/pid`,
    `dumpdir ${folder}`,
  ];
  writeFileSync(file, [...common, ...lines, ''].join('\n'));
  const child = spawn('chronyd', ['-x', '-d', '-u', 'root', '-f', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const output: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => output.push(line));
  await once(child, 'spawn');
  // It says nothing once it listens.
  const socket = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')} `;
  await until('chronyd listens', () => {
    if (child.exitCode !== null) throw new Error(`chronyd ended: ${output.join('\n')}`);
    return readFileSync('/proc/net/udp', 'utf8').includes(socket);
  });
  return {
    port,
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
