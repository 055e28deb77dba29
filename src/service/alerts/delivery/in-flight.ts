import { LruMap } from '@picket/lib/lru.ts';
import type { AlertNotificationRow } from '../tables.ts';
import type { Crowd, DueNotification } from './store.ts';

/** How many notifications are under way at once: to one channel, and to all channels of one account. */
const maxOfChannel = 4;
const maxOfAccount = 8;
/** Up to this many channels of one account have one under way in any case, whatever hangs at the others. */
const maxChannelsOfAccount = 16;
/** A channel that took longer with its last notification gets one at a time until it is quick again. */
const slowMs = 3_000;
const slowChannelsRemembered = 10_000;
/** Of all accounts: from there on only accounts that have none under way get one. */
const maxShared = 128;
const maxInFlight = 1000;

/** The notifications that a process has under way, and which of those that are due may begin. */
export class InFlight {
  readonly #works = new Map<AlertNotificationRow, Promise<void>>();
  readonly #slow = new LruMap<number, true>(slowChannelsRemembered);

  isFull(): boolean {
    return this.#works.size >= maxInFlight;
  }

  begin(row: AlertNotificationRow, work: Promise<void>): void {
    this.#works.set(row, work);
  }

  end(row: AlertNotificationRow, tookMs: number): void {
    this.#works.delete(row);
    if (tookMs > slowMs) this.#slow.set(row.channel_id, true);
    else this.#slow.delete(row.channel_id);
  }

  async ended(): Promise<void> {
    await Promise.all(this.#works.values());
  }

  /** Whose notifications have to wait until one of theirs has ended. */
  crowd(): Crowd {
    const turns = this.#turns();
    const channels = new Map([...this.#works.keys()].map((row) => [row.channel_id, row.account_id]));
    const accountIds = new Set(channels.values());
    return {
      channelIds: [...channels].filter(([id, account]) => !turns.admits(id, account)).map(([id]) => id),
      accountIds: [...accountIds].filter((id) => !turns.admits(null, id)),
    };
  }

  /** What is under way, and who may have more. */
  #turns() {
    const channels = countBy(this.#works.keys(), (row) => row.channel_id);
    const accounts = countBy(this.#works.keys(), (row) => row.account_id);
    let count = this.#works.size;
    return {
      /** A channel, or some channel of the account that has nothing under way. */
      admits: (channelId: number | null, accountId: string): boolean => {
        const ofChannel = channelId === null ? 0 : (channels.get(channelId) ?? 0);
        const ofAccount = accounts.get(accountId) ?? 0;
        if (count >= maxInFlight) return false;
        if (count >= maxShared) return ofAccount === 0;
        if (ofChannel === 0) return ofAccount < maxChannelsOfAccount;
        const isSlow = channelId !== null && this.#slow.get(channelId) === true;
        return !isSlow && ofChannel < maxOfChannel && ofAccount < maxOfAccount;
      },
      add: (channelId: number, accountId: string) => {
        channels.set(channelId, (channels.get(channelId) ?? 0) + 1);
        accounts.set(accountId, (accounts.get(accountId) ?? 0) + 1);
        count += 1;
      },
    };
  }

  /** Which of those that are due may begin, oldest first. */
  admitted(due: readonly DueNotification[]): number[] {
    const turns = this.#turns();
    return due.flatMap(({ position, channel_id: channelId, account_id: accountId }) => {
      if (!turns.admits(channelId, accountId)) return [];
      turns.add(channelId, accountId);
      return [position];
    });
  }
}

function countBy<Row, Key>(rows: Iterable<Row>, keyOf: (row: Row) => Key): Map<Key, number> {
  const counts = new Map<Key, number>();
  for (const row of rows) counts.set(keyOf(row), (counts.get(keyOf(row)) ?? 0) + 1);
  return counts;
}
