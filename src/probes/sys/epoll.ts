import { closeSync } from 'node:fs';
import { adoptDescriptor } from './descriptor.ts';
import { SysError } from './errno.ts';
import type { Libc } from './libc.ts';
import { EPOLL_CLOEXEC, EPOLL_CTL_ADD } from './linux.ts';

/** Only on x64, `struct epoll_event` is packed: its data follows its events without padding. */
const isPacked = process.arch === 'x64';
const eventSizeBytes = isPacked ? 12 : 16;
const dataOffset = isPacked ? 4 : 8;
const maxEvents = 256;

/** Key of a watched descriptor, returned with each of its events. Two numbers of 32 bits. */
export interface WatchKey {
  readonly index: number;
  readonly generation: number;
}

/** Adds sockets to an epoll descriptor, from any thread. Closing a descriptor removes it. */
export class EpollSet {
  readonly #libc: Libc;
  readonly #descriptor: number;
  readonly #event = Buffer.alloc(eventSizeBytes);

  constructor(libc: Libc, descriptor: number) {
    this.#libc = libc;
    this.#descriptor = descriptor;
  }

  /**
   * Watches a descriptor for EPOLL… events.
   *
   * @returns false if the kernel refuses.
   */
  add(descriptor: number, events: number, { index, generation }: WatchKey): boolean {
    this.#event.writeUInt32LE(events, 0);
    this.#event.writeUInt32LE(index, dataOffset);
    this.#event.writeUInt32LE(generation, dataOffset + 4);
    return this.#libc.epollControl(this.#descriptor, EPOLL_CTL_ADD, descriptor, this.#event) === 0;
  }
}

/** Waits for events of an epoll descriptor, in a thread that may block. */
export class EpollWaiter {
  readonly #libc: Libc;
  readonly #descriptor: number;
  readonly #events = Buffer.alloc(maxEvents * eventSizeBytes);

  constructor(libc: Libc, descriptor: number) {
    this.#libc = libc;
    this.#descriptor = descriptor;
  }

  /** Blocks until an event or the timeout; returns the number of events to read. */
  wait(timeoutMs: number): number {
    return Math.max(0, this.#libc.epollWait(this.#descriptor, this.#events, maxEvents, timeoutMs));
  }

  eventsAt(position: number): number {
    return this.#events.readUInt32LE(position * eventSizeBytes);
  }

  indexAt(position: number): number {
    return this.#events.readUInt32LE(position * eventSizeBytes + dataOffset);
  }

  generationAt(position: number): number {
    return this.#events.readUInt32LE(position * eventSizeBytes + dataOffset + 4);
  }
}

/**
 * Opens an epoll descriptor that Node closes at the latest when this thread ends.
 *
 * @throws SysError
 */
export function openEpoll(libc: Libc): { readonly descriptor: number; close(): void } {
  const opened = libc.epollCreate(EPOLL_CLOEXEC);
  if (opened < 0) throw new SysError('epoll_create1', libc.errno());
  const descriptor = adoptDescriptor(libc, opened);
  let isClosed = false;
  return {
    descriptor,
    close: () => {
      if (!isClosed) closeSync(descriptor);
      isClosed = true;
    },
  };
}
