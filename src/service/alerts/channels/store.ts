import { channelKinds } from '@picket/channels/index.ts';
import { accountTable } from '@picket/platform/store/engine/account-table.ts';
import { batches } from '@picket/platform/store/engine/queries.ts';
import { storedJson } from '@picket/platform/store/stored-json.ts';
import type { Tables } from '@picket/platform/store/tables.ts';
import { ChannelFlags } from '@picket/protocol/alerts/alert-channel.ts';
import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { Subscriber, Subscription } from '../../checks/store.ts';
import { ReceiverIncidents } from '../receivers/store.ts';
import type { FormerChannelRow } from '../receivers/tables.ts';
import type { AlertSubscriptionRow } from '../tables.ts';

/** A stored alert channel. */
export interface AlertChannel {
  readonly id: number;
  readonly accountId: string;
  readonly type: string;
  /** As its schema returned it: config and flags. */
  readonly definition: Record<string, unknown>;
  readonly created: number;
  readonly updated: number | null;
}

/** Alert channels and the checks and groups that are subscribed to them. */
export class AlertChannels extends accountTable<Tables['alert_channels'], AlertChannel>(fromRow)({
  name: 'alert_channels',
  key: 'id',
}) {
  /** Every channel of an account, oldest first. */
  async all(accountId: string): Promise<AlertChannel[]> {
    const rows = await this.db
      .selectFrom('alert_channels')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('id')
      .execute();
    return rows.map(fromRow);
  }

  async findMany(ids: readonly number[]): Promise<Map<number, AlertChannel>> {
    if (ids.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('alert_channels')
      .selectAll()
      .where('id', 'in', [...new Set(ids)])
      .execute();
    return new Map(rows.map(fromRow).map((channel) => [channel.id, channel]));
  }

  /** Subscriptions of the given channels, oldest first. */
  async subscriptionsOf(channelIds: readonly number[]): Promise<AlertSubscriptionRow[]> {
    if (channelIds.length === 0) return [];
    return this.db
      .selectFrom('alert_subscriptions')
      .selectAll()
      .where('channel_id', 'in', [...channelIds])
      .orderBy('id')
      .execute();
  }

  /** Subscribes one check or group to a channel, or changes whether its subscription is active. */
  async subscribe(
    channelId: number,
    subscriber: Subscriber,
    activated: boolean,
  ): Promise<AlertSubscriptionRow> {
    const owner = ownerOf(subscriber);
    const column = owner.check_id === null ? 'group_id' : 'check_id';
    await this.#lookAgain([channelId]);
    return this.db
      .insertInto('alert_subscriptions')
      .values({ channel_id: channelId, ...owner, activated: activated ? 1 : 0 })
      .onConflict((conflict) =>
        conflict.columns(['channel_id', column]).doUpdateSet({ activated: activated ? 1 : 0 }),
      )
      .returningAll()
      .executeTakeFirstOrThrow();
  }

  /** Replaces the subscriptions of a check or group. */
  async setSubscriptions(subscriber: Subscriber, subscriptions: readonly Subscription[]): Promise<void> {
    const owner = ownerOf(subscriber);
    const query = this.db.deleteFrom('alert_subscriptions');
    const ofOwner =
      owner.check_id === null
        ? query.where('group_id', '=', owner.group_id)
        : query.where('check_id', '=', owner.check_id);
    const left = await ofOwner.returning('channel_id').execute();
    await this.#lookAgain(left.map(({ channel_id: id }) => id));
    const byChannel = new Map(subscriptions.map((one) => [one.alertChannelId, one.activated]));
    const rows = [...byChannel].map(([channelId, activated]) => ({
      channel_id: channelId,
      ...owner,
      activated: activated ? (1 as const) : (0 as const),
    }));
    for (const batch of batches(rows)) {
      await this.db.insertInto('alert_subscriptions').values(batch).execute();
    }
  }

  /** Replaces the subscribers of a channel. */
  async setSubscribers(
    channelId: number,
    subscribers: readonly {
      readonly checkId: string | null;
      readonly groupId: number | null;
      readonly activated: boolean;
    }[],
  ): Promise<void> {
    await this.db.deleteFrom('alert_subscriptions').where('channel_id', '=', channelId).execute();
    await this.#lookAgain([channelId]);
    for (const activated of [true, false]) {
      const some = subscribers.filter((one) => one.activated === activated);
      const checkIds = some.flatMap(({ checkId }) => checkId ?? []);
      const groupIds = some.flatMap(({ groupId }) => groupId ?? []);
      await this.subscribeAll(channelId, { checkIds, groupIds }, activated);
    }
  }

  /** Subscribes checks and groups, or changes whether their subscriptions are active. */
  async subscribeAll(
    channelId: number,
    { checkIds, groupIds }: { readonly checkIds: readonly string[]; readonly groupIds: readonly number[] },
    activated: boolean,
  ): Promise<void> {
    await this.#lookAgain([channelId]);
    const common = { channel_id: channelId, activated: activated ? (1 as const) : (0 as const) };
    const rows = {
      check_id: [...new Set(checkIds)].map((id) => ({ ...common, check_id: id, group_id: null })),
      group_id: [...new Set(groupIds)].map((id) => ({ ...common, check_id: null, group_id: id })),
    };
    for (const column of ['check_id', 'group_id'] as const) {
      for (const batch of batches<{ check_id: string | null; group_id: number | null } & typeof common>(
        rows[column],
      )) {
        await this.db
          .insertInto('alert_subscriptions')
          .values(batch)
          .onConflict((conflict) =>
            conflict.columns(['channel_id', column]).doUpdateSet({ activated: common.activated }),
          )
          .execute();
      }
    }
  }

  /**
   * Checks and groups of an account that can be subscribed, optionally only those with one of the tags (checks: their
   * own or their group's). Groups are included only if they have channels of their own. Locked until the end of the
   * transaction.
   */
  async subscribable(accountId: string, tags: readonly string[] | undefined) {
    let checks = this.db.selectFrom('checks').select(['id', 'group_id']).where('account_id', '=', accountId);
    let groups = this.db
      .selectFrom('check_groups')
      .select('id')
      .where('account_id', '=', accountId)
      .where('id', 'in', this.#subscribedGroups());
    if (tags) {
      const taggedGroups = this.db
        .selectFrom('check_group_tags')
        .select('group_id')
        .where(this.dialect.inList('tag', tags));
      const tagged = this.db
        .selectFrom('check_tags')
        .select('check_id')
        .where(this.dialect.inList('tag', tags));
      checks = checks.where((eb) => eb.or([eb('id', 'in', tagged), eb('group_id', 'in', taggedGroups)]));
      groups = groups.where('id', 'in', taggedGroups);
    }
    return {
      groups: await groups.orderBy('id').modifyEnd(this.dialect.forUpdate).execute(),
      checks: await checks.orderBy('id').modifyEnd(this.dialect.forUpdate).execute(),
    };
  }

  /** Groups of an account that have channels of their own. */
  async groupsWithChannels(accountId: string): Promise<Set<number>> {
    const rows = await this.db
      .selectFrom('check_groups')
      .select('id')
      .where('account_id', '=', accountId)
      .where('id', 'in', this.#subscribedGroups())
      .execute();
    return new Set(rows.map(({ id }) => id));
  }

  #subscribedGroups() {
    return this.db
      .selectFrom('alert_subscriptions')
      .select((eb) => eb.ref('group_id').$notNull().as('group_id'))
      .where('group_id', 'is not', null);
  }

  /** Channels of the given groups by group id, with whether each is active. */
  async ofGroups(
    groupIds: readonly number[],
  ): Promise<Map<number, { channel: AlertChannel; activated: boolean }[]>> {
    if (groupIds.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('alert_subscriptions')
      .innerJoin('alert_channels', 'alert_channels.id', 'alert_subscriptions.channel_id')
      .selectAll('alert_channels')
      .select(['alert_subscriptions.group_id', 'alert_subscriptions.activated'])
      .where('alert_subscriptions.group_id', 'in', [...new Set(groupIds)])
      .orderBy('alert_subscriptions.id')
      .execute();
    const read = rows.map((row) => ({
      groupId: row.group_id ?? 0,
      channel: fromRow(row),
      activated: row.activated === 1,
    }));
    return Map.groupBy(read, ({ groupId }) => groupId);
  }

  /** Channels of the given checks by check id, with whether each is active. */
  async ofChecks(
    checkIds: readonly string[],
  ): Promise<Map<string, { channel: AlertChannel; activated: boolean }[]>> {
    if (checkIds.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('alert_subscriptions')
      .innerJoin('alert_channels', 'alert_channels.id', 'alert_subscriptions.channel_id')
      .selectAll('alert_channels')
      .select(['alert_subscriptions.check_id', 'alert_subscriptions.activated'])
      .where(this.dialect.inList('alert_subscriptions.check_id', checkIds))
      .orderBy('alert_subscriptions.id')
      .execute();
    const read = rows.map((row) => ({
      checkId: row.check_id ?? '',
      channel: fromRow(row),
      activated: row.activated === 1,
    }));
    return Map.groupBy(read, ({ checkId }) => checkId);
  }

  /** Active channels that are notified of a check: those of its group if the group has any, else its own. */
  async notifiedOfCheck(checkId: string, groupId: number | null): Promise<AlertChannel[]> {
    const ofGroup = groupId === null ? [] : await this.#subscribed({ groupId });
    const rows = ofGroup.length > 0 ? ofGroup : await this.#subscribed({ checkId });
    return rows.filter(({ activated }) => activated === 1).map(fromRow);
  }

  /** Channels that are notified of any of the given checks, without duplicates. */
  async notifiedOfChecks(
    checks: readonly { readonly checkId: string; readonly groupId: number | null }[],
  ): Promise<AlertChannel[]> {
    const ofGroups = await this.ofGroups(checks.flatMap(({ groupId }) => groupId ?? []));
    const ofChecks = await this.ofChecks(checks.map(({ checkId }) => checkId));
    const heard = checks.flatMap(
      ({ checkId, groupId }) => ofGroups.get(groupId ?? 0) ?? ofChecks.get(checkId) ?? [],
    );
    const byId = new Map(
      heard.filter(({ activated }) => activated).map(({ channel }) => [channel.id, channel]),
    );
    return [...byId.values()].sort((one, other) => one.id - other.id);
  }

  /** Channels notified of any check that runs at a location: active, not muted, by itself or with its group. */
  async notifiedOfLocation(accountId: string, slugName: string): Promise<AlertChannel[]> {
    const checks = this.db
      .selectFrom('checks')
      .innerJoin('check_locations', 'check_locations.check_id', 'checks.id')
      .where('checks.account_id', '=', accountId)
      .where('check_locations.name', '=', slugName)
      .where('checks.activated', '=', 1)
      .where('checks.muted', '=', 0);
    const channels = this.db
      .selectFrom('alert_subscriptions')
      .select('channel_id')
      .where('activated', '=', 1)
      .where((eb) =>
        eb.or([
          eb('check_id', 'in', checks.select('checks.id')),
          eb('group_id', 'in', checks.select('checks.group_id').where('checks.group_id', 'is not', null)),
        ]),
      );
    const rows = await this.db
      .selectFrom('alert_channels')
      .selectAll()
      .where('id', 'in', channels)
      .orderBy('id')
      .execute();
    return rows.map(fromRow);
  }

  /** Channels that were or will be notified of an alert. */
  async notifiedOfAlert(alertId: string): Promise<AlertChannel[]> {
    const notified = this.db
      .selectFrom('alert_notifications')
      .select('channel_id')
      .where('alert_id', '=', alertId);
    const rows = await this.db
      .selectFrom('alert_channels')
      .selectAll()
      .where('id', 'in', notified)
      .orderBy('id')
      .execute();
    return rows.map(fromRow);
  }

  /**
   * Marks open incidents at receivers of channels for re-evaluation: their channel may no longer be notified of them.
   */
  async #lookAgain(channelIds: readonly number[]): Promise<void> {
    const incidents = new ReceiverIncidents(this.db, this.dialect);
    for (const channelId of [...new Set(channelIds)].sort((one, other) => one - other)) {
      await incidents.lookAgain({ channelId });
    }
  }

  async #subscribed(subscriber: Subscriber) {
    const query = this.db
      .selectFrom('alert_subscriptions')
      .innerJoin('alert_channels', 'alert_channels.id', 'alert_subscriptions.channel_id')
      .selectAll('alert_channels')
      .select('alert_subscriptions.activated')
      .orderBy('alert_channels.id');
    const ofOwner =
      'groupId' in subscriber
        ? query.where('alert_subscriptions.group_id', '=', subscriber.groupId)
        : query.where('alert_subscriptions.check_id', '=', subscriber.checkId);
    return ofOwner.execute();
  }
}

function ownerOf(subscriber: Subscriber): { check_id: string | null; group_id: number | null } {
  return 'checkId' in subscriber
    ? { check_id: subscriber.checkId, group_id: null }
    : { check_id: null, group_id: subscriber.groupId };
}

const anyChannel = storedJson(
  'alert_channels.definition',
  z.object({ config: z.object({}).default({}), ...ChannelFlags.shape }),
);
const byType = new Map(
  channelKinds.map((kind) => [
    kind.type as string,
    storedJson('alert_channels.definition', z.object({ config: kind.config, ...ChannelFlags.shape })),
  ]),
);

/** Parser for the definition of a channel; a build that knew more types may have written it. */
function definitionOf(type: string): (text: string) => Record<string, unknown> {
  return byType.get(type) ?? anyChannel;
}

/** A channel as it was before it was changed or deleted. */
export function formerChannel(row: FormerChannelRow, id: number): AlertChannel {
  return {
    id,
    accountId: row.account_id,
    type: row.type,
    definition: definitionOf(row.type)(row.definition),
    created: row.created,
    updated: null,
  };
}

function fromRow(row: Selectable<Tables['alert_channels']>): AlertChannel {
  return {
    id: row.id,
    accountId: row.account_id,
    type: row.type,
    definition: definitionOf(row.type)(row.definition),
    created: row.created,
    updated: row.updated,
  };
}
