import { endWithoutNativeLoads } from '@picket/probes/sys/native-loads.ts';
import { probeThreadsAhead } from './runners/probe/probe-threads.ts';

/** Loads an agent and its probe threads concurrently, and runs it: see `runAgent`. */
export async function startAgent(environment: Readonly<Record<string, string | undefined>>): Promise<void> {
  const probeThreads = probeThreadsAhead();
  try {
    const { runAgent } = await import('./main.ts');
    await runAgent(environment, probeThreads);
  } finally {
    // If the agent did not start, its threads may still be loading.
    await endWithoutNativeLoads(() => Promise.all(probeThreads.map((thread) => thread.terminate())));
  }
}
