/** Start parameters of the kernel thread. */
export interface KernelThreadStart {
  /** The epoll descriptor it waits at; the other thread adds its own sockets to it. */
  readonly epollDescriptor: number;
  /** An eventfd to write after each message, because the thread may be blocking. */
  readonly wakeUpDescriptor: number;
  /** Memory of the WatchTable. */
  readonly table: SharedArrayBuffer;
}

export type ToKernelThread =
  /** There are sockets to watch; the table lists them. */
  | { readonly type: 'watch' }
  /** Ends the thread. */
  | { readonly type: 'end' };

export type FromKernelThread =
  | { readonly type: 'ready' }
  /** The thread cannot make system calls at all. */
  | { readonly type: 'unavailable'; readonly reason: string };

/** Index of the epoll event that is not a row of the table. */
export const wakeUpIndex = 0xffff_ff00;

/** Maximum wait of the kernel thread: a thread that blocks in a system call cannot be terminated. */
export const maxWaitMs = 100;
/**
 * If a wait ends this much later than its timeout, the whole process was stopped (SIGSTOP, a suspended machine) or the
 * thread was starved. Timestamps of arrivals in that time are then no better than events.
 */
export const stoodStillMs = 250;
