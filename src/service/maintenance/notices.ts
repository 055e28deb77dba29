import { leastOf } from '@picket/lib/bounds/extremes.ts';
import type { Clock } from '@picket/lib/clock.ts';
import { utcText } from '@picket/lib/figures/time.ts';
import type { Store } from '@picket/platform/store/store.ts';
import {
  isGoingOn,
  type MaintenanceMail,
  mailMaintenance,
  type VisibleMaintenance,
  visibleMaintenances,
} from './pages.ts';

export interface MaintenanceNoticesOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly publicUrl?: string | undefined;
}

const minuteMs = 60_000;
/** Slightly longer than the longest possible reminder (check model 2.7). */
const aheadMs = 10_080 * minuteMs + minuteMs;
/** Older events are no longer news: the service was away, or the notice was enabled afterwards. */
const newsMs = 60 * minuteMs;

/** Kinds of notices that an update may send instead of the window. */
export const startNotice = 'start';
export const endNotice = 'end';

interface Notice extends Pick<MaintenanceMail, 'subject' | 'text'> {
  readonly kind: string;
}

/**
 * Mails subscribers of status pages that a maintenance is upcoming (`reminderMinutesBefore`), has begun
 * (`notifyOnStart`) or is over (`notifyOnEnd`). The leader checks every 20 seconds. That a notice was sent is stored in
 * the transaction that stores its mails, so it is sent exactly once, whichever process does so and even if processes
 * are killed in between.
 */
export class MaintenanceNotices {
  readonly #options: MaintenanceNoticesOptions;

  constructor(options: MaintenanceNoticesOptions) {
    this.#options = options;
  }

  async turn(): Promise<number | null> {
    const { store, clock } = this.#options;
    const now = clock.wallMs();
    // Reads first, so that without visible windows no write transaction is opened.
    const due = (await visibleMaintenances(store, now, { pastMs: newsMs, aheadMs })).flatMap((maintenance) =>
      noticesOf(maintenance, now).map((notice) => ({ maintenance, notice })),
    );
    for (const { maintenance, notice } of due) await this.#send(maintenance, notice, now);
    return null;
  }

  async #send(maintenance: VisibleMaintenance, notice: Notice, now: number): Promise<void> {
    const { store, publicUrl } = this.#options;
    const { windowId, planned } = maintenance;
    await store.leaderTransaction(async (repositories) => {
      const isNew = await repositories.maintenances.recordNotice({
        window_id: windowId,
        occurrence: planned.id,
        kind: notice.kind,
        created: now,
      });
      if (isNew)
        await mailMaintenance(
          repositories,
          maintenance,
          { hasMailer: true, publicUrl },
          { ...notice, at: now },
        );
    });
  }
}

/** Notices of a maintenance that are due at an instant and enabled in its window. */
function noticesOf({ visibility, planned, status, definition }: VisibleMaintenance, now: number): Notice[] {
  const { startsAt, endsAt, effect, overAt } = planned;
  const text = [
    definition.description ?? '',
    `From ${dateText(startsAt, definition.timezone)} to ${dateText(endsAt, definition.timezone)}.`,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
  if (status === 'SCHEDULED' && startsAt > now) {
    // Only the nearest: if several are due at once, the others are late.
    const due = visibility.reminderMinutesBefore.filter((minutes) => startsAt - minutes * minuteMs <= now);
    if (due.length === 0) return [];
    const nearest = leastOf(due);
    return [{ kind: `reminder-${nearest}`, subject: 'Maintenance scheduled', text }];
  }
  if (isGoingOn({ status }) && visibility.notifyOnStart && now - effect.from <= newsMs) {
    return [{ kind: startNotice, subject: 'Maintenance in progress', text }];
  }
  const isOver = status === 'COMPLETED' && now - overAt <= newsMs && effect.to > effect.from;
  if (isOver && visibility.notifyOnEnd) return [{ kind: endNotice, subject: 'Maintenance completed', text }];
  return [];
}

function dateText(epochMs: number, timeZone: string | undefined = 'UTC'): string {
  if (timeZone === 'UTC') return utcText(epochMs);
  const parts = { dateStyle: 'full', timeStyle: 'long', timeZone } as const;
  return new Intl.DateTimeFormat('en-GB', parts).format(epochMs);
}
