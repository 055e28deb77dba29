import { spawnSync } from 'node:child_process';
import { startLineProcess } from './line-process.ts';

/** Processes that never pause, at normal priority; on one core, or wherever the kernel schedules them. */
export async function startBurners(
  count: number,
  { core }: { readonly core?: number } = {},
): Promise<AsyncDisposable & { readonly count: number }> {
  const started = Array.from({ length: count }, () => startLineProcess('busy-loop.ts'));
  await Promise.all(started.map((burner) => burner.next()));
  for (const { pid } of core === undefined ? [] : started)
    spawnSync('taskset', ['-a', '-c', '-p', String(core), String(pid)], { stdio: 'ignore' });
  return {
    count,
    async [Symbol.asyncDispose]() {
      await Promise.all(started.map((burner) => burner[Symbol.asyncDispose]()));
    },
  };
}
