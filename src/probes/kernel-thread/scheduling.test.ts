import { getPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';

const libc = new URL('../sys/libc.ts', import.meta.url).href;
const scheduling = new URL('./scheduling.ts', import.meta.url).href;

/** The policy that a thread is granted, and its resulting priority. */
async function granted(): Promise<{ way: string; nice: number }> {
  const program = `
    import { parentPort } from 'node:worker_threads';
    import { readFileSync } from 'node:fs';
    import { loadLibc } from ${JSON.stringify(libc)};
    import { runPromptly } from ${JSON.stringify(scheduling)};
    const way = runPromptly(await loadLibc());
    const stat = readFileSync('/proc/thread-self/stat', 'utf8');
    // After the name in brackets, which may hold anything, the 17th field.
    const nice = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
    parentPort.postMessage({ way, nice });
  `;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`));
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<typeof granted>>>();
  worker.once('message', resolve);
  worker.once('error', reject);
  return await promise;
}

describe.skipIf(process.platform !== 'linux')('a thread that is to run promptly', () => {
  it('is granted a priority or a short slice, and changes only its own priority', async () => {
    const before = getPriority();
    const { way, nice } = await granted();
    expect(way).toMatch(/^(priority|slice)$/);
    expect(nice).toBe(way === 'priority' ? -15 : before);
    expect(getPriority()).toBe(before);
  });
});
