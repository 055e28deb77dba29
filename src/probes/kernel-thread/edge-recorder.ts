import type { Libc } from '../sys/libc.ts';
import { EPOLLERR, EPOLLHUP, EPOLLOUT } from '../sys/linux.ts';
import { TcpInfo } from '../sys/tcp-info.ts';
import { agreedTime, burstBytes, spanOf } from './arrival-time.ts';
import { monotonicMs } from './monotonic-clock.ts';
import type { WakeTime } from './wake-time.ts';
import type { WatchTable } from './watch-table.ts';

/**
 * Writes down when something happened at the sockets of another thread. It looks at them and never touches
 * them: what arrives stays for its reader.
 */
export class EdgeRecorder {
  readonly #table: WatchTable;
  readonly #info: TcpInfo;

  constructor(libc: Libc, table: WatchTable) {
    this.#table = table;
    this.#info = new TcpInfo(libc);
  }

  /** @param wake when it happened; `atMs` is of the monotonic clock. @param nowMs the time now, by the same clock. */
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
    // What has been read meanwhile does not show as EPOLLIN any more, but in what has come in all.
    if (!this.#info.read(table.descriptorOf(row))) return;
    // The socket may have been closed meanwhile, and its number be another's.
    if (!table.isCurrent(row, generation)) return;
    const { receivedBytes, sinceDataSentMs, sinceDataReceivedMs, stepMs } = this.#info;
    const earlierMs = nowMs - wake.atMs;
    // What woke the thread was the connection, or of more than one burst the beginning: the rest may have come until now.
    const isOneBurst = !isAnswer && receivedBytes - table.receivedBytes(row) <= burstBytes;
    const stamp = isOneBurst ? wake : { atMs: nowMs, doubtMs: wake.doubtMs + earlierMs };
    const age = { sinceMs: sinceDataReceivedMs, stepMs };
    const { atMs, doubtMs } = agreedTime(stamp, spanOf(age, readFromMs, monotonicMs()));
    const sinceSentMs = Math.max(0, sinceDataSentMs - (nowMs - atMs));
    table.addEdge(row, { atMs, receivedBytes, sinceSentMs, doubtMs });
  }
}
