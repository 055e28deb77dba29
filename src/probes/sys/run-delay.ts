import { openSync, readSync } from 'node:fs';
import { errorCodeOf } from '../../lib/errors.ts';

/** How the calling thread got processors since it began, by the kernel's own account. */
export interface RunDelay {
  /** How long it wanted one and had none, in milliseconds. */
  readonly waitedMs: number;
  /** How often it was given one. */
  readonly turnCount: number;
}

/**
 * Linux's `schedstat` of the calling thread; undefined where the system does not say. The file stays open for the life of
 * the thread; a reading takes about a microsecond.
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
    const [, delayNs, turns] = text.toString('latin1', 0, length).split(' ', 3);
    return { waitedMs: Number(delayNs ?? 0) / 1e6, turnCount: Number(turns ?? 0) };
  };
}
