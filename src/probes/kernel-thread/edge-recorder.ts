import type { Libc } from '../sys/libc.ts';
import { EPOLLERR, EPOLLHUP, EPOLLOUT } from '../sys/linux.ts';
import { TcpInfo } from '../sys/tcp-info.ts';
import { agreedTime, burstBytes, spanOf } from './arrival-time.ts';
import { monotonicMs } from './monotonic-clock.ts';
import type { WakeTime } from './wake-time.ts';
import type { WatchTable } from './watch-table.ts';

/** Records events on the sockets of another thread. It only inspects them: data stays for its reader. */
export class EdgeRecorder {
  readonly #table: WatchTable;
  readonly #info: TcpInfo;

  constructor(libc: Libc, table: WatchTable) {
    this.#table = table;
    this.#info = new TcpInfo(libc);
  }

  /** @param wake time of the event; `atMs` is monotonic. @param nowMs the current time of the same clock. */
  record(
    {
      events,
      row,
      generation,
    }: { readonly events: number; readonly row: number; readonly generation: number },
    wake: WakeTime,
    nowMs: number,
  ): void {
    const table = this.#table;
    if (!table.isCurrent(row, generation)) return;
    const isAnswer = (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) !== 0 && table.addAnswer(row, wake.atMs);
    const readFromMs = monotonicMs();
    // Data read meanwhile no longer raises EPOLLIN, but is included in the received total.
    if (!this.#info.read(table.descriptorOf(row))) return;
    // The socket may have been closed meanwhile, and its descriptor reused.
    if (!table.isCurrent(row, generation)) return;
    const { receivedBytes, sinceDataSentMs, sinceDataReceivedMs, stepMs } = this.#info;
    const earlierMs = nowMs - wake.atMs;
    // The thread was woken by the connect, or by the first of several bursts: the rest may have arrived until now.
    const isOneBurst = !isAnswer && receivedBytes - table.receivedBytes(row) <= burstBytes;
    const stamp = isOneBurst ? wake : { atMs: nowMs, doubtMs: wake.doubtMs + earlierMs };
    const age = { sinceMs: sinceDataReceivedMs, stepMs };
    const { atMs, doubtMs } = agreedTime(stamp, spanOf(age, readFromMs, monotonicMs()));
    const sinceSentMs = Math.max(0, sinceDataSentMs - (nowMs - atMs));
    table.addEdge(row, { atMs, receivedBytes, sinceSentMs, doubtMs });
  }
}
