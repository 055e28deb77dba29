import { closeSync, openSync } from 'node:fs';
import { SysError } from './errno.ts';
import type { Libc } from './libc.ts';
import { O_CLOEXEC } from './linux.ts';

/**
 * Hands a descriptor over to Node: it moves to a number that Node opened itself, and Node closes a thread's descriptors
 * when that thread ends, however it ends. Otherwise a killed thread would leave its sockets open until the process
 * ends.
 *
 * @returns the new descriptor; the old one is closed.
 * @throws SysError, and errors of `fs` if descriptors have run out; nothing stays open then.
 */
export function adoptDescriptor(libc: Libc, descriptor: number): number {
  let adopted: number;
  try {
    adopted = openSync('/dev/null', 'r');
  } catch (thrown) {
    libc.close(descriptor);
    throw thrown;
  }
  const result = libc.dup3(descriptor, adopted, O_CLOEXEC);
  const errno = result < 0 ? libc.errno() : 0;
  libc.close(descriptor);
  if (result < 0) {
    closeSync(adopted);
    throw new SysError('dup3', errno);
  }
  return adopted;
}
