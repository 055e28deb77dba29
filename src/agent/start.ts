import { probeThreadsAhead } from './runners/probe/probe-threads.ts';

/** Loads an agent, its probe threads at the same time, and runs it: see `runAgent`. */
export async function startAgent(environment: Readonly<Record<string, string | undefined>>): Promise<void> {
  const probeThreads = probeThreadsAhead();
  const { runAgent } = await import('./main.ts');
  await runAgent(environment, probeThreads);
}
