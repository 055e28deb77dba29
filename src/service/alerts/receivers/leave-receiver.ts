import { randomUUID } from 'node:crypto';
import { findChannelKind } from '@picket/channels/index.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { type StoredChannel, wantsNotice } from '../channels/rules.ts';
import type { AlertChannel } from '../channels/store.ts';
import { alertId, storeAlert, storedFacts } from '../raise.ts';
import { endOf } from './close-lost.ts';

/**
 * Ends open incidents at the receiver of a channel that now leads elsewhere or is deleted, using its former settings,
 * which are kept until that is sent. Conditions that still hold are opened at the new receiver. Must be called in the
 * transaction that changes the channel.
 *
 * @param after null if it is deleted.
 * @returns whether there are notifications to send.
 */
export async function leaveReceiver(
  repositories: Pick<Repositories, 'alerts' | 'notifications' | 'receiverIncidents'>,
  before: AlertChannel,
  after: AlertChannel | null,
  now: number,
): Promise<boolean> {
  if (after && receiverOf(before) === receiverOf(after)) return false;
  const { receiverIncidents } = repositories;
  const rows = await receiverIncidents.ofChannel(before.id);
  if (rows.length === 0) return false;
  const isEnded = before.definition.sendRecovery !== false;
  const former = {
    id: randomUUID(),
    account_id: before.accountId,
    type: before.type,
    definition: JSON.stringify(before.definition),
    created: now,
  };
  if (isEnded) await receiverIncidents.insertFormer(former);
  for (const row of rows) {
    const reason = after ? 'channel-changed' : 'channel-deleted';
    if (isEnded) await storeAlert(repositories, endOf(row, reason, now), [before], former.id);
    else await receiverIncidents.remove(row);
    const opened = after && (await repositories.alerts.findMany([row.alert_id])).get(row.alert_id);
    if (!opened || !findChannelKind(after.type)?.keepsIncidents) continue;
    const definition = after.definition as StoredChannel;
    if (!wantsNotice(definition, opened.notice, storedFacts(opened))) continue;
    const moved = { ...opened, id: alertId(opened.id, 'moved', String(after.id), String(now)), created: now };
    await storeAlert(repositories, { ...moved, check_id: row.filed_under }, [after]);
  }
  return true;
}

/** Identifies the receiver of a channel that keeps incidents. */
function receiverOf({ type, definition }: AlertChannel): string {
  const config = definition.config as Readonly<Record<string, unknown>>;
  const fields = findChannelKind(type)?.incidentsAt ?? [];
  return JSON.stringify([type, ...fields.map((field) => config[field])]);
}
