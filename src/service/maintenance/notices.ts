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
/** The longest reminder there is (check model 2.7), and a little more. */
const aheadMs = 10_080 * minuteMs + minuteMs;
/**
 * What happened longer ago is nobody's news any more: the service was away, or the notice was wished for
 * afterwards.
 */
const newsMs = 60 * minuteMs;

/** Kinds of notices that an update may send in the place of the window. */
export const startNotice = 'start';
export const endNotice = 'end';

interface Notice extends Pick<MaintenanceMail, 'subject' | 'text'> {
  readonly kind: string;
}

/**
 * Mails subscribers of status pages that a maintenance lies ahead (`reminderMinutesBefore`), has begun
 * (`notifyOnStart`) and is over (`notifyOnEnd`). The leader looks every 20 seconds; that a notice was sent is
 * stored in the transaction that stores its mails, so it is sent once, whichever process does and whatever is
 * killed in between.
 */
export class MaintenanceNotices {
  readonly #options: MaintenanceNoticesOptions;

  constructor(options: MaintenanceNoticesOptions) {
    this.#options = options;
  }

  async turn(): Promise<number | null> {
    const { store, clock } = this.#options;
    const now = clock.wallMs();
    // Read first: without a window that anybody sees, no write transaction is opened.
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

/** The notices of a maintenance that are due at an instant, as far as its window wants them. */
function noticesOf({ visibility, planned, status, definition }: VisibleMaintenance, now: number): Notice[] {
  const { startsAt, endsAt, effect, overAt } = planned;
  const text = [
    definition.description ?? '',
    `From ${dateText(startsAt, definition.timezone)} to ${dateText(endsAt, definition.timezone)}.`,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
  if (status === 'SCHEDULED' && startsAt > now) {
    // The nearest only: of several that are due at once, the others are late.
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
