import { setFlagsFromString } from 'node:v8';
import type { Logger } from '../lib/log.ts';
import { type HeapTrim, loadHeapTrim } from '../probes/sys/heap-trim.ts';

/** When an agent has started, and what it needed for that is free. */
const firstMs = 10_000;
const everyMs = 60_000;
/** Who uses less than this of one processor has time for looking after its memory. */
const quietShare = 0.05;

/**
 * Keeps an agent that runs for long at the memory it needs, by two habits of V8 and one of the C library.
 *
 * V8 cleans up the heap of a thread when it has grown to a multiple of what was alive: here, when it has grown by a third. And it
 * keeps what it once had, unless it is told that memory matters more than speed: here, while there is little to do, where that
 * costs nothing. The C library keeps what was freed between blocks that are in use: here, that is given back every minute.
 *
 * @returns what ends it.
 */
export function keepMemorySmall(log: Logger): () => void {
  let isStopped = false;
  let timer = setTimeout(begin, firstMs).unref();
  let trim: HeapTrim | undefined;
  let cpu = process.cpuUsage();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };

  /** Not at the start: whoever sets a flag of V8 makes it compile anew what Node has brought along compiled. */
  async function begin(): Promise<void> {
    setFlagsFromString('--heap-growing-percent=30');
    setFlagsFromString('--optimize-for-size');
    await giveBack();
  }

  async function look(): Promise<void> {
    const { user, system } = process.cpuUsage(cpu);
    const isQuiet = (user + system) / 1000 < quietShare * everyMs;
    setFlagsFromString(isQuiet ? '--optimize-for-size' : '--no-optimize-for-size');
    await giveBack();
  }

  async function giveBack(): Promise<void> {
    try {
      trim ??= await loadHeapTrim();
      await trim?.();
    } catch (thrown) {
      log.debug({ err: thrown }, 'free memory cannot be given back to the system here');
    }
    cpu = process.cpuUsage();
    if (!isStopped) timer = setTimeout(look, everyMs).unref();
  }
}
