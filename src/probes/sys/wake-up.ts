import { closeSync } from 'node:fs';
import { adoptDescriptor } from './descriptor.ts';
import { SysError } from './errno.ts';
import type { Libc } from './libc.ts';
import { EFD_CLOEXEC, EFD_NONBLOCK } from './linux.ts';

/** An eventfd: one thread wakes another that blocks in `poll`. */
export class WakeUp {
  readonly descriptor: number;
  readonly #libc: Libc;
  readonly #one = Buffer.alloc(8);
  #isClosed = false;

  /** @throws SysError */
  constructor(libc: Libc) {
    this.#libc = libc;
    this.#one.writeBigUInt64LE(1n);
    const descriptor = libc.eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (descriptor < 0) throw new SysError('eventfd', libc.errno());
    this.descriptor = adoptDescriptor(libc, descriptor);
  }

  /** Makes the descriptor readable until it is read. */
  wake(): void {
    if (!this.#isClosed) this.#libc.write(this.descriptor, this.#one, 8);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.descriptor);
  }
}
