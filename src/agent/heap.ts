import { setFlagsFromString } from 'node:v8';
import type { Logger } from '../lib/log.ts';
import { type HeapTrim, loadHeapTrim } from '../probes/sys/heap-trim.ts';

/** When an agent has started, and what it needed for that is free. */
const firstMs = 10_000;
const everyMs = 60_000;

/**
 * Keeps an agent that runs for long at the memory it needs. V8 would clean up the heap of each of its threads when it has grown
 * to a multiple, and the C library keeps what was freed between blocks that are in use: of an agent at work both together are
 * half of its memory, of one that waits a third.
 *
 * @returns what ends it.
 */
export function keepMemorySmall(log: Logger): () => void {
  let isStopped = false;
  let trim: HeapTrim | undefined;
  let timer = setTimeout(begin, firstMs).unref();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };

  async function begin(): Promise<void> {
    keepHeapsSmall();
    await giveBack();
  }

  async function giveBack(): Promise<void> {
    try {
      trim ??= await loadHeapTrim();
      if (!trim) return;
      await trim();
      if (!isStopped) timer = setTimeout(giveBack, everyMs).unref();
    } catch (thrown) {
      log.debug({ err: thrown }, 'free memory cannot be given back to the system here');
    }
  }
}

/**
 * Lets the heaps of all threads grow less before they are cleaned up. Not at the start: whoever sets a flag of V8 makes it compile
 * anew what Node has brought along compiled, which makes a start a fifth longer.
 */
function keepHeapsSmall(): void {
  setFlagsFromString('--optimize-for-size');
  // A heap is cleaned up when it has grown by this since the last time, rather than to a multiple.
  setFlagsFromString('--heap-growing-percent=30');
}
