import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { AlertNotificationRow, AlertRow } from '../tables.ts';

/** A private location without agents, or one that agents find unhealthy. */
export interface TroubledLocation {
  readonly id: string;
  readonly name: string;
  readonly slugName: string;
  readonly noAgentSince: number | null;
  readonly outdatedSince: number | null;
  readonly unhealthySince: number | null;
  readonly evidence: string | null;
}

/** Selects the notifications about an entry. */
export interface EntryScope {
  readonly accountId: string;
  readonly causeId: string | null;
  /** Checks, or other subjects of alerts. */
  readonly subjectIds: readonly string[];
  readonly types: readonly AlertRow['alert_type'][];
  /** Epoch milliseconds, both inclusive. */
  readonly from: number;
  readonly to: number;
}

export type EntryNotificationRow = AlertNotificationRow & Pick<AlertRow, 'alert_type' | 'facts'>;

const mostNotifications = 200;
/** More than people read in one list. */
const mostEnded = 2_000;
const mostBeginnings = 5_000;

/** Reads what the entries of the alert list are made of. */
export class AlertEntries extends Repository {
  /** Alerts that report an end, newest first. */
  async ends(accountId: string, { from, to }: { from: number; to: number }): Promise<AlertRow[]> {
    return this.db
      .selectFrom('alerts')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('created', '>=', from)
      .where('created', '<', to)
      .where('notice', '=', 'recovery')
      .where('alert_type', 'not in', ['ALERT_TEST', 'ALERT_ENDED'])
      .orderBy('created', 'desc')
      .orderBy('id', 'desc')
      .limit(mostEnded)
      .execute();
  }

  async end(accountId: string, id: string): Promise<AlertRow | undefined> {
    return this.db
      .selectFrom('alerts')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('id', '=', id)
      .where('notice', '=', 'recovery')
      .executeTakeFirst();
  }

  /** Alerts of the given subjects that did not report an end, oldest first. */
  async beginnings(
    subjectIds: readonly string[],
    { from, to }: { from: number; to: number },
  ): Promise<AlertRow[]> {
    if (subjectIds.length === 0) return [];
    return this.db
      .selectFrom('alerts')
      .selectAll()
      .where(this.dialect.inList('check_id', [...new Set(subjectIds)]))
      .where('created', '>=', from)
      .where('created', '<', to)
      .where('notice', 'in', ['failure', 'degraded', 'gap'])
      .orderBy('created')
      .limit(mostBeginnings)
      .execute();
  }

  /** Notifications about an entry, newest first. */
  async notifications(scope: EntryScope): Promise<EntryNotificationRow[]> {
    const { accountId, causeId, subjectIds, types, from, to } = scope;
    return this.db
      .selectFrom('alert_notifications as sent')
      .innerJoin('alerts', 'alerts.id', 'sent.alert_id')
      .selectAll('sent')
      .select(['alerts.alert_type', 'alerts.facts'])
      .where('sent.account_id', '=', accountId)
      .where('sent.created', '>=', from)
      .where('alerts.alert_type', 'in', types)
      .where((eb) =>
        eb.or([
          ...(causeId === null ? [] : [eb('alerts.cause_id', '=', causeId)]),
          eb.and([
            this.dialect.inList('alerts.check_id', [...new Set(subjectIds)]),
            eb('sent.created', '<=', to),
          ]),
        ]),
      )
      .orderBy('sent.position', 'desc')
      .limit(mostNotifications)
      .execute();
  }

  /** The latest notification of each of the given channels that was tried. */
  async latestOf(channelIds: readonly number[]): Promise<EntryNotificationRow[]> {
    const latest: EntryNotificationRow[] = [];
    for (const channelId of channelIds) {
      const row = await this.db
        .selectFrom('alert_notifications as sent')
        .innerJoin('alerts', 'alerts.id', 'sent.alert_id')
        .selectAll('sent')
        .select(['alerts.alert_type', 'alerts.facts'])
        .where('sent.channel_id', '=', channelId)
        .where('sent.last_try', 'is not', null)
        .orderBy('sent.last_try', 'desc')
        .limit(1)
        .executeTakeFirst();
      if (row) latest.push(row);
    }
    return latest;
  }

  /** Subjects and causes that a channel was notified of since an instant. */
  async notifiedBy(
    accountId: string,
    channelId: number,
    since: number,
  ): Promise<{ readonly subjectIds: ReadonlySet<string>; readonly causeIds: ReadonlySet<string> }> {
    const rows = await this.db
      .selectFrom('alert_notifications as sent')
      .innerJoin('alerts', 'alerts.id', 'sent.alert_id')
      .select(['alerts.check_id', 'alerts.cause_id'])
      .distinct()
      .where('sent.account_id', '=', accountId)
      .where('sent.channel_id', '=', channelId)
      .where('sent.created', '>=', since)
      .execute();
    return {
      subjectIds: new Set(rows.map((row) => row.check_id)),
      causeIds: new Set(rows.flatMap((row) => row.cause_id ?? [])),
    };
  }

  /** Locations of an account that have no agent or outdated ones, or that agents have found unhealthy since an instant. */
  async troubledLocations(accountId: string, reportedSince: number): Promise<TroubledLocation[]> {
    const rows = await this.db
      .selectFrom('private_locations as place')
      .leftJoin('location_events as event', (join) =>
        join
          .onRef('event.location_id', '=', 'place.id')
          .on('event.ended', 'is', null)
          .on('event.told', '>=', reportedSince),
      )
      .select(['place.id', 'place.name', 'place.slug_name', 'place.no_agent_since', 'place.outdated_since'])
      .select(['event.started', 'event.evidence'])
      .where('place.account_id', '=', accountId)
      .where((eb) =>
        eb.or([
          eb('place.no_agent_since', 'is not', null),
          eb('place.outdated_since', 'is not', null),
          eb('event.started', 'is not', null),
        ]),
      )
      .orderBy('event.started')
      .execute();
    const first = new Map(rows.toReversed().map((row) => [row.id, row]));
    return [...first.values()].map((row) => ({
      id: row.id,
      name: row.name,
      slugName: row.slug_name,
      noAgentSince: row.no_agent_since,
      outdatedSince: row.outdated_since,
      unhealthySince: row.started,
      evidence: row.evidence,
    }));
  }
}
