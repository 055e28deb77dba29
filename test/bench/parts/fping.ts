import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Addresses of this host; all of 127.0.0.0/8 are. */
export function loopbackAddresses(count: number): string[] {
  return Array.from(
    { length: count },
    (_, index) => `127.0.${1 + Math.floor(index / 250)}.${1 + (index % 250)}`,
  );
}

/**
 * Lets fping send `count` echo requests to each address, `periodMs` apart.
 *
 * @returns the milliseconds of CPU it took, all of it, its start included.
 * @throws when anything was lost.
 */
export async function fpingCpuMs(
  addresses: readonly string[],
  { count, periodMs }: { readonly count: number; readonly periodMs: number },
): Promise<number> {
  const words = ['fping', '-q', '-i', '0', '-c', String(count), '-p', String(periodMs), ...addresses];
  // The shell's own clock of its children: Node tells that of none.
  const child = spawn('bash', ['-c', 'TIMEFORMAT="cpu %3U %3S"; time "$@"', 'bash', ...words], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: `${process.env.PATH ?? ''}:/usr/sbin:/sbin`, LC_ALL: 'C' },
  });
  let output = '';
  child.stderr.on('data', (data) => {
    output += data;
  });
  const [code] = await once(child, 'close');
  const [, user, system] = /cpu ([\d.]+) ([\d.]+)/.exec(output) ?? [];
  if (code !== 0 || user === undefined) throw new Error(`fping ended with ${code}: ${output.slice(-300)}`);
  return (Number(user) + Number(system)) * 1000;
}
