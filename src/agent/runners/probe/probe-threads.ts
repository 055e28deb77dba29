import { availableParallelism } from 'node:os';
import { extname } from 'node:path';
import { ThreadAhead } from '../threads/thread-ahead.ts';

/** Where a probe thread begins. */
export const probeWorkerEntry = new URL(`./probe-worker${extname(import.meta.url)}`, import.meta.url);

/** Half of the cores for probes, one at least: the main thread, scripts and the kernel need the others. */
export function defaultThreadCount(): number {
  return Math.min(4, Math.max(1, Math.floor(availableParallelism() / 2)));
}

/**
 * Half of what the process may use, between 256 MB and 1 GB. Not less: V8 ends a thread that eats memory
 * cleanly only when it can notice in time, and with a small limit one burst of allocations takes the whole
 * process down (measured: at 96 MB two of five ways to eat memory did, at 512 MB none).
 */
export function defaultHeapMb(): number {
  const limitMb = process.constrainedMemory() / 2 ** 20;
  const usableMb = limitMb > 0 && limitMb < 2 ** 24 ? limitMb : 2048;
  return Math.round(Math.min(1024, Math.max(256, usableMb / 2)));
}

/** As many probe threads as an agent has, for one that is about to start. */
export function probeThreadsAhead(): ThreadAhead[] {
  return Array.from(
    { length: defaultThreadCount() },
    () => new ThreadAhead(probeWorkerEntry, { name: 'probe', maxHeapMb: defaultHeapMb() }),
  );
}
