import { EpollSet, EpollWaiter } from '../sys/epoll.ts';
import type { Libc } from '../sys/libc.ts';
import { EPOLLIN } from '../sys/linux.ts';
import { openRunDelay, type RunDelay } from '../sys/run-delay.ts';
import { EdgeRecorder } from './edge-recorder.ts';
import {
  type KernelThreadStart,
  maxWaitMs,
  stoodStillMs,
  type ToKernelThread,
  wakeUpIndex,
} from './messages.ts';
import { monotonicMs } from './monotonic-clock.ts';
import { type WakeTime, wakeTime } from './wake-time.ts';
import { WatchTable } from './watch-table.ts';

/**
 * After so little work, the run delay read after the last wait is still valid. If the thread was interrupted after all,
 * it counts one more turn and is treated as not knowing when it was woken.
 */
const shortWorkMs = 0.1;

/** How long the thread keeps waiting without work: waking it costs more than a few empty rounds. */
const lingerMs = 1000;

/**
 * The main loop of the kernel thread: it waits at the kernel for everything that needs exact timestamps, and reads the
 * clock before anything else. It does no long-running work.
 *
 * SLEEPING: nothing to wait for; the thread is in its event loop, like any thread, and a message wakes it. → WAITING
 * when a message arrives: the thread blocks at its epoll descriptor (wake-up, watched sockets of the other thread) and
 * reads messages itself. → SLEEPING when no socket was watched for a second. → ENDED by the message `end`, from both.
 */
export class KernelLoop {
  readonly #libc: Libc;
  readonly #waiter: EpollWaiter;
  readonly #wakeUpDescriptor: number;
  readonly #table: WatchTable;
  readonly #recorder: EdgeRecorder;
  readonly #counter = Buffer.alloc(8);
  readonly #runDelay = openRunDelay();
  /** The run delay when the thread returned from its last wait, and the time of that. */
  #returned: { readonly atMs: number; readonly delay: RunDelay | undefined } = { atMs: 0, delay: undefined };
  /** When the thread last found that no event was pending. */
  #lookedAtMs = monotonicMs();
  #isEnded = false;

  constructor(libc: Libc, start: KernelThreadStart) {
    this.#libc = libc;
    this.#waiter = new EpollWaiter(libc, start.epollDescriptor);
    this.#wakeUpDescriptor = start.wakeUpDescriptor;
    this.#table = new WatchTable(start.table);
    this.#recorder = new EdgeRecorder(libc, this.#table);
    const set = new EpollSet(libc, start.epollDescriptor);
    set.add(start.wakeUpDescriptor, EPOLLIN, { index: wakeUpIndex, generation: 0 });
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /**
   * Handles a message and everything that follows from it; returns when there is nothing left to wait for.
   *
   * @param nextMessage returns the next queued message, or undefined.
   */
  serve(message: ToKernelThread, nextMessage: () => ToKernelThread | undefined): void {
    this.#table.setAwake(true);
    let idleSinceMs = performance.now();
    this.#handle(message);
    let hasMessages = true;
    for (;;) {
      if (hasMessages) for (let next = nextMessage(); next; next = nextMessage()) this.#handle(next);
      if (this.#isEnded) return;
      const nowMs = performance.now();
      if (this.#table.isAnyWatched) idleSinceMs = nowMs;
      else if (nowMs - idleSinceMs >= lingerMs && this.#sleep()) return;
      hasMessages = this.#wait(maxWaitMs);
    }
  }

  /** Returns false if the other thread has just begun to watch a socket. */
  #sleep(): boolean {
    this.#table.setAwake(false);
    if (!this.#table.isAnyWatched) return true;
    this.#table.setAwake(true);
    return false;
  }

  #handle(message: ToKernelThread): void {
    if (message.type === 'end') this.#isEnded = true;
  }

  /** Returns whether messages may be queued: a sender posts first and wakes the thread afterwards. */
  #wait(timeoutMs: number): boolean {
    const { atMs: lastReturnMs, delay: lastDelay } = this.#returned;
    const isFresh = lastDelay && monotonicMs() - lastReturnMs <= shortWorkMs;
    const before = isFresh ? lastDelay : this.#runDelay?.();
    const askedAtMs = monotonicMs();
    this.#table.recordWait(askedAtMs);
    const count = this.#waiter.wait(timeoutMs);
    const atMs = monotonicMs();
    // A wait during a standstill ends without events; the next wait returns those that arrived meanwhile.
    if (atMs - askedAtMs > timeoutMs + stoodStillMs) this.#table.recordStandstill(atMs);
    const after = this.#runDelay?.();
    this.#returned = { atMs, delay: after };
    const wait = { lookedAtMs: this.#lookedAtMs, askedAtMs, timeoutMs, returnedAtMs: atMs };
    const woken: WakeTime = before && after ? wakeTime({ ...wait, before, after }) : { atMs, doubtMs: 0 };
    this.#lookedAtMs = atMs - woken.doubtMs;
    if (count === 0) return false;
    // The remaining events happened later, at any time until now.
    const later = { atMs, doubtMs: Math.max(woken.doubtMs, atMs - woken.atMs) };
    let isWoken = false;
    for (let position = 0; position < count; position += 1) {
      const index = this.#waiter.indexAt(position);
      if (index === wakeUpIndex) {
        this.#libc.read(this.#wakeUpDescriptor, this.#counter, 8);
        isWoken = true;
      } else {
        const generation = this.#waiter.generationAt(position);
        const events = this.#waiter.eventsAt(position);
        this.#recorder.record({ events, row: index, generation }, position === 0 ? woken : later, atMs);
      }
    }
    return isWoken;
  }
}
