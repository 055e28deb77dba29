import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

export interface Capture extends AsyncDisposable {
  readonly path: string;
  /** Stops it and completes its file. @returns the number of packets that the kernel dropped. */
  stop(): Promise<number>;
}

/** How long the kernel may hold back the last block of a capture. */
const blockTimeoutMs = 1300;

/** Starts tcpdump with nanosecond timestamps and, as the yardstick, with real-time priority. */
export async function startCapture(device: string, filter: string): Promise<Capture> {
  const path = join(tmpdir(), `picket-bench-${crypto.randomUUID()}.pcap`);
  const child = spawn(
    'chrt',
    [
      ...['-f', '10', 'tcpdump', '-i', device, '-n', '-s', '96', '-B', '65536', '-w', path],
      ...['--time-stamp-precision=nano', '-Z', 'root', filter],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const ended = once(child, 'exit');
  const lines: string[] = [];
  const output = createInterface({ input: child.stderr });
  await new Promise<void>((resolve, reject) => {
    output.on('line', (line) => {
      lines.push(line);
      if (line.includes('listening on')) resolve();
    });
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`tcpdump ended: ${lines.join(' ')}`)));
  });
  const dropped = () => Number(/(\d+) packets? dropped by kernel/.exec(lines.join('\n'))?.[1] ?? 0);
  return {
    path,
    async stop() {
      await delay(blockTimeoutMs);
      const closed = once(output, 'close');
      child.kill('SIGINT');
      await ended;
      await closed;
      return dropped();
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await ended;
      await rm(path, { force: true });
    },
  };
}
