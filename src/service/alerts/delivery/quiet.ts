import type { Store } from '@picket/platform/store/store.ts';
import { isHeld, quietUntil, threadOf } from '../channels/quiet-hours.ts';
import type { StoredChannel } from '../channels/rules.ts';
import type { AlertChannel } from '../channels/store.ts';
import { storedFacts } from '../raise.ts';
import type { AlertNotificationRow, AlertRow } from '../tables.ts';

/**
 * Effect of a channel's quiet hours on a notification. During them it is held until they end. Then only the latest news
 * of each subject is sent, and nothing about what began and ended meanwhile: readers learn the current state.
 */
export type Quiet =
  /** Held until this time, in epoch milliseconds. */
  | { readonly kind: 'held'; readonly until: number }
  /** Why it is not sent at all. */
  | { readonly kind: 'over'; readonly reason: string }
  /** It is sent; `since` is when it could have been sent, or the end of its hold. */
  | { readonly kind: 'none'; readonly since: number };

export async function quietOf(
  { notifications, alerts }: Pick<Store, 'notifications' | 'alerts'>,
  { row, alert, channel }: { row: AlertNotificationRow; alert: AlertRow; channel: AlertChannel },
  now: number,
): Promise<Quiet> {
  const { quietHours } = channel.definition as Pick<StoredChannel, 'quietHours'>;
  const facts = storedFacts(alert);
  const until = quietHours && isHeld(quietHours, alert.notice, facts) ? quietUntil(quietHours, now) : null;
  if (until !== null) return { kind: 'held', until };
  if (row.held_until === null) return { kind: 'none', since: row.created };
  const thread = threadOf(alert.notice, facts);
  const others = await notifications.ofCheckAndChannel(row.check_id, row.channel_id);
  const alertsOf = await alerts.findMany(others.map((one) => one.alert_id));
  const ofThread = others.filter((one) => {
    const other = alertsOf.get(one.alert_id);
    return other && threadOf(other.notice, storedFacts(other)) === thread;
  });
  if (ofThread.some(({ position }) => position > row.position)) {
    return { kind: 'over', reason: 'superseded by another alert in the quiet hours' };
  }
  // A partial recovery ends nothing.
  if (alert.notice === 'recovery' && !row.cause_update) {
    const last = ofThread.findLast(
      ({ position, status, cause_update: update }) =>
        position < row.position && status === 'SUCCESS' && !update,
    );
    const known = last && alertsOf.get(last.alert_id);
    if (!known || known.notice === 'recovery') {
      return { kind: 'over', reason: 'it began and ended in the quiet hours' };
    }
  }
  return { kind: 'none', since: row.held_until };
}
