import type { FromEngine, ToEngine } from './echo/messages.ts';

/** What the kernel's thread is started with. */
export interface KernelThreadStart {
  /** The epoll descriptor it waits at; the other thread adds its own sockets to it. */
  readonly epollDescriptor: number;
  /** An eventfd that is written to after each message, because the thread may be blocking. */
  readonly wakeUpDescriptor: number;
  /** Memory of the WatchTable. */
  readonly table: SharedArrayBuffer;
}

export type ToKernelThread =
  | ToEngine
  /** There are sockets to watch: nothing is said of them, they are in the table. */
  | { readonly type: 'watch' }
  /** Ends the thread. */
  | { readonly type: 'end' };

export type FromKernelThread =
  | { readonly type: 'ready' }
  /** The thread cannot make system calls at all. */
  | { readonly type: 'unavailable'; readonly reason: string }
  | FromEngine;

/** Indices of epoll events that are no rows of the table. */
export const wakeUpIndex = 0xffff_ff00;
export const echoIndex = { 4: 0xffff_ff04, 6: 0xffff_ff06 } as const;

/**
 * How long the kernel's thread waits at most. No longer, because a thread that blocks in a system call cannot
 * be ended.
 */
export const maxWaitMs = 100;
/**
 * A wait that ends this much later than it may was not the kernel's: the whole process stood still (SIGSTOP,
 * a suspended machine) or the thread got no time. The stamps of what arrived meanwhile are no better than
 * events then.
 */
export const stoodStillMs = 250;
