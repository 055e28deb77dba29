import { openSync, readSync } from 'node:fs';
import { errorCodeOf } from '../../../lib/errors.ts';

/**
 * How long the calling thread has wanted a processor and had none since it began, in milliseconds: the second
 * number of Linux's `schedstat`. Undefined where the system does not say. The file stays open for the life of
 * the thread; a reading takes about a microsecond.
 */
export function openCpuWait(): (() => number) | undefined {
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
    const [, delayNs] = text.toString('latin1', 0, length).split(' ', 2);
    return Number(delayNs ?? 0) / 1e6;
  };
}
