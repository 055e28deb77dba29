import { findChannelKind } from '@picket/channels/index.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import { type AlertFacts, unknownFacts } from '../facts.ts';
import type { Notice } from '../state.ts';
import { incidentKeyOf, incidentSubjectOf } from './incident-key.ts';
import type { FormerChannelRow, ReceiverIncidentRow } from './tables.ts';

const factsOf = storedValue<AlertFacts>('alerts.facts', unknownFacts);

/** The part of a notification that determines what it opens or ends at its receiver. */
interface Told {
  readonly alert_id: string;
  readonly account_id: string;
  readonly channel_id: number;
  readonly channel_type: string;
  /** Subject that it is filed under. */
  readonly check_id: string;
  readonly created: number;
  /** Set for a further message on a cause that continues. */
  readonly cause_update?: string | null;
}

type Key = Pick<ReceiverIncidentRow, 'channel_id' | 'incident_key'>;

/**
 * Open incidents at receivers that keep them, by channel and key. Written together with the notifications, so they are
 * equally durable, and an end is sent exactly once for each opened incident.
 */
export class ReceiverIncidents extends Repository {
  /**
   * Records what notifications open and end, before they are stored, so that concurrent ends by other processes are
   * stored in the true order.
   *
   * @returns the notifications to store: all except ends of, and further messages on, incidents that are not open.
   */
  async record<One extends Told>(told: readonly One[]): Promise<One[]> {
    const kept = await this.#unknown(
      told.filter(({ channel_type: type }) => findChannelKind(type)?.keepsIncidents),
    );
    if (kept.length === 0) return [...told];
    const alerts = await this.db
      .selectFrom('alerts')
      .select(['id', 'notice', 'facts'])
      .where(this.dialect.inList('id', [...new Set(kept.map(({ alert_id }) => alert_id))]))
      .execute();
    const byId = new Map(alerts.map((alert) => [alert.id, alert]));
    const idle = new Set<One>();
    for (const one of kept.toSorted(byChannel)) {
      const alert = byId.get(one.alert_id);
      if (!alert) continue;
      if (one.cause_update) {
        if (!(await this.#isOpen(one, alert))) idle.add(one);
      } else if (alert.notice !== 'recovery') await this.#open(one, alert);
      else if (!(await this.#end(one, alert))) idle.add(one);
    }
    return told.filter((one) => !idle.has(one));
  }

  /** Rows due for evaluation, longest due first; locked, skipping those locked by another process. */
  async due(now: number, limit: number): Promise<ReceiverIncidentRow[]> {
    return this.db
      .selectFrom('receiver_incidents')
      .selectAll()
      .where('look_at', '<=', now)
      .orderBy('look_at')
      .limit(limit)
      .modifyEnd(this.dialect.forUpdateSkipLocked)
      .execute();
  }

  async nextDueAt(): Promise<number | null> {
    const row = await this.db
      .selectFrom('receiver_incidents')
      .select((eb) => eb.fn.min('look_at').as('at'))
      .executeTakeFirst();
    return row?.at ?? null;
  }

  /** Open incidents at the receiver of a channel; locked. */
  async ofChannel(channelId: number): Promise<ReceiverIncidentRow[]> {
    return this.db
      .selectFrom('receiver_incidents')
      .selectAll()
      .where('channel_id', '=', channelId)
      .orderBy('incident_key')
      .modifyEnd(this.dialect.forUpdate)
      .execute();
  }

  async list(accountId: string): Promise<ReceiverIncidentRow[]> {
    return this.db
      .selectFrom('receiver_incidents')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('opened')
      .execute();
  }

  async lookLater(rows: readonly Key[], at: number): Promise<void> {
    for (const row of rows) {
      await this.db
        .updateTable('receiver_incidents')
        .set({ look_at: at })
        .where('channel_id', '=', row.channel_id)
        .where('incident_key', '=', row.incident_key)
        .execute();
    }
  }

  /** Marks open incidents for prompt re-evaluation: their subject may have changed. */
  async lookAgain(
    about: { readonly checkId: string } | { readonly accountId: string } | { readonly channelId: number },
  ): Promise<void> {
    const query = this.db.updateTable('receiver_incidents').set({ look_at: 0 });
    if ('checkId' in about) await query.where('filed_under', '=', about.checkId).execute();
    else if ('accountId' in about) await query.where('account_id', '=', about.accountId).execute();
    else await query.where('channel_id', '=', about.channelId).execute();
  }

  async remove(row: Key): Promise<void> {
    await this.db
      .deleteFrom('receiver_incidents')
      .where('channel_id', '=', row.channel_id)
      .where('incident_key', '=', row.incident_key)
      .execute();
  }

  async insertFormer(row: FormerChannelRow): Promise<void> {
    await this.db.insertInto('former_channels').values(row).execute();
  }

  async findFormer(id: string): Promise<FormerChannelRow | undefined> {
    return this.db.selectFrom('former_channels').selectAll().where('id', '=', id).executeTakeFirst();
  }

  /** Deletes a former channel once nothing is left to send there. */
  async forgetFormer(id: string): Promise<void> {
    await this.db
      .deleteFrom('former_channels')
      .where('id', '=', id)
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom('alert_notifications')
              .select('position')
              .where('former_channel_id', '=', id)
              .where('status', '=', 'IN_PROGRESS'),
          ),
        ),
      )
      .execute();
  }

  /** Notifications that are not stored yet: repeated ones are not news. */
  async #unknown<One extends Told>(told: readonly One[]): Promise<One[]> {
    if (told.length === 0) return [];
    const stored = await this.db
      .selectFrom('alert_notifications')
      .select(['alert_id', 'channel_id'])
      .where(this.dialect.inList('alert_id', [...new Set(told.map(({ alert_id }) => alert_id))]))
      .execute();
    const known = new Set(stored.map((row) => `${row.alert_id} ${row.channel_id}`));
    return told.filter((one) => !known.has(`${one.alert_id} ${one.channel_id}`));
  }

  async #open(one: Told, alert: { readonly notice: Notice; readonly facts: string }): Promise<void> {
    const about = { notice: alert.notice, facts: factsOf(alert.facts) };
    await this.db
      .insertInto('receiver_incidents')
      .values({
        channel_id: one.channel_id,
        incident_key: incidentKeyOf(about, one.check_id),
        account_id: one.account_id,
        filed_under: one.check_id,
        subject: incidentSubjectOf(about),
        alert_id: one.alert_id,
        facts: alert.facts,
        opened: one.created,
        look_at: one.created,
      })
      // Reminders and similar messages concern an open incident; for a certificate the newest alert identifies it.
      .onConflict((conflict) =>
        conflict
          .columns(['channel_id', 'incident_key'])
          .doUpdateSet(
            about.notice === 'ssl'
              ? { alert_id: one.alert_id, facts: alert.facts }
              : { look_at: one.created },
          ),
      )
      .execute();
  }

  async #isOpen(one: Told, alert: { readonly notice: Notice; readonly facts: string }): Promise<boolean> {
    const about = { notice: alert.notice, facts: factsOf(alert.facts) };
    const row = await this.db
      .selectFrom('receiver_incidents')
      .select('channel_id')
      .where('channel_id', '=', one.channel_id)
      .where('incident_key', '=', incidentKeyOf(about, one.check_id))
      .executeTakeFirst();
    return row !== undefined;
  }

  async #end(one: Told, alert: { readonly facts: string }): Promise<boolean> {
    const about = { notice: 'recovery' as const, facts: factsOf(alert.facts) };
    const ended = await this.db
      .deleteFrom('receiver_incidents')
      .where('channel_id', '=', one.channel_id)
      .where('incident_key', '=', incidentKeyOf(about, one.check_id))
      .returning('channel_id')
      .execute();
    return ended.length > 0;
  }
}

function byChannel(one: Told, other: Told): number {
  return one.channel_id - other.channel_id || (one.check_id < other.check_id ? -1 : 1);
}
