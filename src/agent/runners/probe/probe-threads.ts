import { availableParallelism } from 'node:os';
import { extname } from 'node:path';
import { ThreadAhead } from '../threads/thread-ahead.ts';

/** The entry file of a probe thread. */
export const probeWorkerEntry = new URL(`./probe-worker${extname(import.meta.url)}`, import.meta.url);

/** Half of the cores, at least one: the main thread, scripts and the kernel need the others. */
export function defaultThreadCount(): number {
  return Math.min(4, Math.max(1, Math.floor(availableParallelism() / 2)));
}

/**
 * Half of the memory available to the process, between 256 MB and 1 GB. Not less: V8 ends a thread that exhausts its
 * heap cleanly only if it notices in time; with a small limit one burst of allocations takes down the whole process
 * (measured: at 96 MB two of five ways to exhaust memory did, at 512 MB none).
 */
export function defaultHeapMb(): number {
  const limitMb = process.constrainedMemory() / 2 ** 20;
  const usableMb = limitMb > 0 && limitMb < 2 ** 24 ? limitMb : 2048;
  return Math.round(Math.min(1024, Math.max(256, usableMb / 2)));
}

/** Starts as many probe threads as an agent has, for an agent that is about to start. */
export function probeThreadsAhead(): ThreadAhead[] {
  return Array.from(
    { length: defaultThreadCount() },
    () => new ThreadAhead(probeWorkerEntry, { name: 'probe', maxHeapMb: defaultHeapMb() }),
  );
}
