import { endWithoutNativeLoads } from '@picket/probes/sys/native-loads.ts';
import { probeThreadsAhead } from './runners/probe/probe-threads.ts';

/** Loads an agent, its probe threads at the same time, and runs it: see `runAgent`. */
export async function startAgent(environment: Readonly<Record<string, string | undefined>>): Promise<void> {
  const probeThreads = probeThreadsAhead();
  try {
    const { runAgent } = await import('./main.ts');
    await runAgent(environment, probeThreads);
  } finally {
    // An agent that did not start leaves them where they are: perhaps in the middle of loading.
    await endWithoutNativeLoads(() => Promise.all(probeThreads.map((thread) => thread.terminate())));
  }
}
