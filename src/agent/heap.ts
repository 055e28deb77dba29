import { setFlagsFromString } from 'node:v8';
import type { Logger } from '../lib/log.ts';
import { type HeapTrim, loadHeapTrim } from '../probes/sys/heap-trim.ts';

/** When an agent has started, and what it needed for that is free. */
const firstMs = 10_000;
const everyMs = 5000;
const trimEveryMs = 60_000;
/** Who uses less than this of one processor has time for its memory; who uses less than the second, all the time in the world. */
const calmShare = 0.5;
const quietShare = 0.05;

/**
 * Keeps an agent that runs for long at the memory it needs, while the processor has time for it: against two habits of V8 and one
 * of the C library. ADR 23 has what it saves and costs.
 *
 * V8 cleans up the heap of a thread when it has grown to a multiple of what was alive: here, while the agent is not busy, when it
 * has grown by a third. And it keeps what it once had, unless it is told that memory matters more than speed: here, while there is
 * hardly anything to do. The C library keeps what was freed between blocks that are in use: that is given back every minute.
 *
 * Nothing of this at the start: whoever sets a flag of V8 makes it compile anew what Node has brought along compiled.
 *
 * @returns what ends it.
 */
export function keepMemorySmall(log: Logger): () => void {
  let trim: HeapTrim | undefined;
  let cpu = process.cpuUsage();
  let lookedAtMs = performance.now();
  let trimmedAtMs = Number.NEGATIVE_INFINITY;
  let timer = setTimeout(look, firstMs).unref();
  return () => clearTimeout(timer);

  function look(): void {
    const nowMs = performance.now();
    const { user, system } = process.cpuUsage(cpu);
    const share = (user + system) / 1000 / (nowMs - lookedAtMs);
    setFlagsFromString(`--heap-growing-percent=${share < calmShare ? 30 : 0}`);
    setFlagsFromString(share < quietShare ? '--optimize-for-size' : '--no-optimize-for-size');
    if (nowMs - trimmedAtMs >= trimEveryMs) {
      trimmedAtMs = nowMs;
      void giveBack();
    }
    cpu = process.cpuUsage();
    lookedAtMs = nowMs;
    timer = setTimeout(look, everyMs).unref();
  }

  async function giveBack(): Promise<void> {
    try {
      trim ??= await loadHeapTrim();
      await trim?.();
    } catch (thrown) {
      log.debug({ err: thrown }, 'free memory cannot be given back to the system here');
    }
  }
}
