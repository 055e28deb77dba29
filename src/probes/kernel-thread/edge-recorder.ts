import type { Libc } from '../sys/libc.ts';
import { EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLOUT } from '../sys/linux.ts';
import { TcpInfo } from '../sys/tcp-info.ts';
import type { WatchSlots } from './watch-slots.ts';

/**
 * Writes down when something happened at the sockets of another thread. It looks at them and never touches them: what
 * arrives stays for its reader.
 */
export class EdgeRecorder {
  readonly #slots: WatchSlots;
  readonly #info: TcpInfo;

  constructor(libc: Libc, slots: WatchSlots) {
    this.#slots = slots;
    this.#info = new TcpInfo(libc);
  }

  /** @param atMs now, in milliseconds of the monotonic clock. */
  record(events: number, slot: number, generation: number, atMs: number): void {
    const slots = this.#slots;
    if (!slots.isCurrent(slot, generation)) return;
    if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) !== 0) slots.addAnswer(slot, atMs);
    if ((events & EPOLLIN) === 0 || !this.#info.read(slots.descriptorOf(slot))) return;
    // The socket may have been closed meanwhile, and its number be another's.
    if (!slots.isCurrent(slot, generation)) return;
    const { receivedBytes, sinceDataSentMs } = this.#info;
    slots.addEdge(slot, { atMs, receivedBytes, sinceSentMs: sinceDataSentMs });
  }
}
