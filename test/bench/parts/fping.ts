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
 * Has fping send `count` echo requests to each address, `periodMs` apart.
 *
 * @returns its total CPU time in milliseconds, including its start.
 * @throws if a reply was lost.
 */
export async function fpingCpuMs(
  addresses: readonly string[],
  { count, periodMs }: { readonly count: number; readonly periodMs: number },
): Promise<number> {
  const words = ['fping', '-q', '-i', '0', '-c', String(count), '-p', String(periodMs), ...addresses];
  // Uses the shell's CPU times of its children, which Node does not report.
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
