import type { Logger } from '../lib/log.ts';
import { type HeapTrim, loadHeapTrim } from '../probes/sys/heap-trim.ts';

/** When an agent has started, and what it needed for that is free. */
const firstMs = 10_000;
const everyMs = 60_000;

/**
 * Gives memory back to the system that nobody uses. The C library keeps what was freed between blocks that are in use; of an
 * agent that only waits that is a seventh of its memory, and one at work for days would grow by it.
 *
 * @returns what ends it.
 */
export function returnFreeHeap(log: Logger): () => void {
  let isStopped = false;
  let trim: HeapTrim | undefined;
  let timer = setTimeout(giveBack, firstMs).unref();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };

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
