import { loadKoffi } from './libc.ts';

/** Gives what is free in the C library's heap back to the system, in a thread of its own; see malloc_trim(3). */
export type HeapTrim = () => Promise<void>;

/**
 * Loads the function.
 *
 * @returns undefined where the C library has none: musl gives memory back by itself.
 * @throws SysUnavailable where no function of the C library can be called.
 */
export async function loadHeapTrim(): Promise<HeapTrim | undefined> {
  const program = (await loadKoffi()).load(null);
  let trim: ReturnType<typeof program.func>;
  try {
    trim = program.func('int malloc_trim(size_t)');
  } catch {
    return undefined;
  }
  return () =>
    new Promise((resolve, reject) => {
      trim.async(0, (error: unknown) => (error ? reject(error) : resolve()));
    });
}
