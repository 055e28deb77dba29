import { openSync, readSync } from 'node:fs';
import { errorCodeOf } from '@picket/lib/errors.ts';

/** Scheduling statistics of the calling thread since it started, as counted by the kernel. */
export interface RunDelay {
  /** Total time spent runnable without a processor, in milliseconds. */
  readonly waitedMs: number;
  /** Number of times it was given a processor. */
  readonly turnCount: number;
}

/**
 * Opens Linux's `schedstat` of the calling thread; undefined if the system does not provide it. The file stays open for
 * the life of the thread; a reading takes about a microsecond.
 */
export function openRunDelay(): (() => RunDelay) | undefined {
  let descriptor: number;
  try {
    descriptor = openSync('/proc/thread-self/schedstat', 'r');
  } catch (thrown) {
    if (errorCodeOf(thrown) === undefined) throw thrown;
    return undefined;
  }
  const text = Buffer.alloc(96);
  return () => {
    const length = readSync(descriptor, text, 0, text.length, 0);
    // Parsed by hand: strings and arrays would cost more than the system call, and this runs with each event.
    let field = 0;
    let delayNs = 0;
    let turnCount = 0;
    for (let at = 0; at < length; at += 1) {
      const digit = (text[at] ?? 0) - 0x30;
      if (digit < 0) field += 1;
      else if (field === 1) delayNs = delayNs * 10 + digit;
      else if (field === 2) turnCount = turnCount * 10 + digit;
    }
    return { waitedMs: delayNs / 1e6, turnCount };
  };
}
