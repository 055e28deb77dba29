import { LruMap } from '@picket/lib/lru.ts';
import type { AlertNotificationRow } from '../tables.ts';
import type { Crowd, DueNotification } from './store.ts';

/** Limits of notifications in flight: for one channel, and for all channels of one account. */
const maxOfChannel = 4;
const maxOfAccount = 8;
/** Up to this many channels of an account may have one in flight each, even if other channels hang. */
const maxChannelsOfAccount = 16;
/** A channel whose last notification took longer gets one at a time until it is fast again. */
const slowMs = 3_000;
const slowChannelsRemembered = 10_000;
/** Across all accounts: above this count only accounts with none in flight may start one. */
const maxShared = 128;
const maxInFlight = 1000;

/** Notifications that a process has in flight, and which due notifications may start. */
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

  /** Channels and accounts whose notifications must wait until one in flight has ended. */
  crowd(): Crowd {
    const turns = this.#turns();
    const channels = new Map([...this.#works.keys()].map((row) => [row.channel_id, row.account_id]));
    const accountIds = new Set(channels.values());
    return {
      channelIds: [...channels].filter(([id, account]) => !turns.admits(id, account)).map(([id]) => id),
      accountIds: [...accountIds].filter((id) => !turns.admits(null, id)),
    };
  }

  /** Current counts in flight, and the rule for who may start more. */
  #turns() {
    const channels = countBy(this.#works.keys(), (row) => row.channel_id);
    const accounts = countBy(this.#works.keys(), (row) => row.account_id);
    let count = this.#works.size;
    return {
      /** Whether a channel may start one; null stands for any idle channel of the account. */
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

  /** Positions of due notifications that may start, oldest first. */
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
