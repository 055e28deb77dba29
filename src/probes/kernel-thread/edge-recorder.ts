import type { Libc } from '../sys/libc.ts';
import { EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLOUT } from '../sys/linux.ts';
import { TcpInfo } from '../sys/tcp-info.ts';
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

  /** @param atMs now, in milliseconds of the monotonic clock. */
  record(events: number, row: number, generation: number, atMs: number): void {
    const table = this.#table;
    if (!table.isCurrent(row, generation)) return;
    if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) !== 0) table.addAnswer(row, atMs);
    if ((events & EPOLLIN) === 0 || !this.#info.read(table.descriptorOf(row))) return;
    // The socket may have been closed meanwhile, and its number be another's.
    if (!table.isCurrent(row, generation)) return;
    const { receivedBytes, sinceDataSentMs } = this.#info;
    table.addEdge(row, { atMs, receivedBytes, sinceSentMs: sinceDataSentMs });
  }
}
