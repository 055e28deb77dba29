import type { ChannelSettings } from '@picket/channels/contract/channel.ts';
import { findChannelKind } from '@picket/channels/index.ts';
import type { WebhookConfig } from '@picket/channels/webhook/config.ts';
import { keepMasked, maskDefinition } from '@picket/checks/contract/masking.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import { found } from '@picket/platform/http/known-names.ts';
import { describePage, pageOffset } from '@picket/platform/http/paging.ts';
import { unknownFieldIssues } from '@picket/platform/http/unknown-names.ts';
import { fieldError, validationError } from '@picket/platform/http/validation.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import {
  AlertChannelInput,
  alertChannelRoutes,
  type AlertChannel as ShownChannel,
} from '@picket/protocol/alerts/alert-channel.ts';
import type { Warning } from '@picket/protocol/http/warning.ts';
import { templateThread } from '../delivery/template-thread.ts';
import { leaveReceiver } from '../receivers/leave-receiver.ts';
import type { AlertSubscriptionRow } from '../tables.ts';
import type { AlertChannel } from './store.ts';
import { subscribeMany, writeSubscribers } from './subscribers.ts';
import { sendTest } from './test-notification.ts';

/** Routes of alert channels. */
export function alertChannelHandlers({
  store,
  clock,
  publicUrl,
  channelSettings,
  ledger,
}: HandlerDeps & {
  readonly channelSettings: ChannelSettings;
  readonly ledger: { readonly draining: AbortSignal };
}): [string, AnyHandler][] {
  const viewOf = async (channel: AlertChannel) =>
    view(channel, await store.alertChannels.subscriptionsOf([channel.id]), channelSettings);
  return handlersById(alertChannelRoutes, {
    async listAlertChannels({ caller, query, request, reply }) {
      const page = { limit: query.limit, offset: pageOffset(query) };
      const { total, rows: channels } = await store.alertChannels.list(caller.accountId, page);
      const subscriptions = await store.alertChannels.subscriptionsOf(channels.map(({ id }) => id));
      const byChannel = Map.groupBy(subscriptions, (row) => row.channel_id);
      describePage(request, reply, { query, total, publicUrl });
      return channels.map((channel) => view(channel, byChannel.get(channel.id) ?? [], channelSettings));
    },
    async createAlertChannel({ caller, body }) {
      requireDeliverable(body, channelSettings);
      await requireTemplates(caller.accountId, body);
      const { type, subscriptions = [], ...definition } = body;
      const { accountId } = caller;
      const row = { type, definition: JSON.stringify(definition), created: clock.wallMs(), updated: null };
      const created = await store.transaction(async (repositories) => {
        const inserted = await repositories.alertChannels.insert({ account_id: accountId, ...row });
        await writeSubscribers(repositories, accountId, inserted.id, subscriptions);
        return inserted;
      });
      return viewOf(created);
    },
    async getAlertChannel({ caller, params }) {
      return viewOf(await requireChannel(store, caller.accountId, params.id));
    },
    async updateAlertChannel({ caller, params, body }) {
      const [accountId, what] = [caller.accountId, `alert channel ${params.id}`];
      const before = found(await store.alertChannels.find(accountId, params.id), what);
      // Outside the transaction: checking templates may take long.
      const after = merged(before, body);
      if (after.type !== before.type) requireDeliverable(after, channelSettings);
      await requireTemplates(accountId, after);
      const changed = await store.transaction(async (repositories) => {
        const stored = found(await repositories.alertChannels.findForUpdate(accountId, params.id), what);
        const { type, subscriptions, ...definition } = merged(stored, body);
        if (subscriptions) await writeSubscribers(repositories, accountId, stored.id, subscriptions);
        const row = { type, definition: JSON.stringify(definition), updated: clock.wallMs() };
        const identity = { account_id: accountId, id: stored.id };
        const channel = found(await repositories.alertChannels.update({ ...row, ...identity }), what);
        const hasNews = await leaveReceiver(repositories, stored, channel, clock.wallMs());
        return { channel, hasNews };
      });
      if (changed.hasNews) store.signals.send([{ kind: 'alerts' }]);
      return viewOf(changed.channel);
    },
    async deleteAlertChannel({ caller, params }) {
      const hasNews = await store.transaction(async (repositories) => {
        const { alertChannels } = repositories;
        const what = `alert channel ${params.id}`;
        const stored = found(await alertChannels.findForUpdate(caller.accountId, params.id), what);
        const isLeft = await leaveReceiver(repositories, stored, null, clock.wallMs());
        await alertChannels.delete(caller.accountId, stored.id);
        return isLeft;
      });
      if (hasNews) store.signals.send([{ kind: 'alerts' }]);
    },
    async updateAlertChannelSubscriptions({ caller, params, body }) {
      const { checkId, groupId, activated } = body;
      const row = await store.transaction(async (repositories) => {
        const { id } = await requireChannel(repositories, caller.accountId, params.id);
        if ((checkId === null) === (groupId === null)) {
          const message = 'or "groupId" is required, but not both';
          throw fieldError('payload', [{ key: 'checkId', message }]);
        }
        if (checkId !== null) {
          const check = found(
            await repositories.checks.findForUpdate(caller.accountId, checkId.toLowerCase()),
            `check ${checkId}`,
          );
          return repositories.alertChannels.subscribe(id, { checkId: check.id }, activated);
        }
        const group =
          groupId === null ? undefined : await repositories.groups.findForUpdate(caller.accountId, groupId);
        const subscriber = { groupId: found(group, `check group ${groupId}`).id };
        return repositories.alertChannels.subscribe(id, subscriber, activated);
      });
      return subscriptionView(row);
    },
    async bulkSubscribeAlertChannel({ caller, params, body }) {
      return store.transaction(async (repositories) => {
        const { id } = await requireChannel(repositories, caller.accountId, params.id);
        const tags = 'tags' in body ? body.tags : undefined;
        return subscribeMany(repositories, caller.accountId, id, { tags, activated: body.activated });
      });
    },
    async testAlertChannel({ caller, params, request }) {
      const channel = await requireChannel(store, caller.accountId, params.id);
      const stop = AbortSignal.any([ledger.draining, request.signal]);
      const { id, status, result } = await sendTest({ store, clock }, channel, stop);
      return { notificationId: id, status, result };
    },
  });
}

async function requireChannel(
  repositories: Pick<Repositories, 'alertChannels'>,
  accountId: string,
  id: number,
): Promise<AlertChannel> {
  return found(await repositories.alertChannels.find(accountId, id), `alert channel ${id}`);
}

/** Merges a body into the stored channel; a config of another type replaces the old one entirely. */
function merged(stored: AlertChannel, body: Readonly<Record<string, unknown>>): AlertChannelInput {
  const type = body.type ?? stored.type;
  const isSameType = type === stored.type;
  const merge = (patch: Readonly<Record<string, unknown>>) => {
    const config =
      isSameType && typeof patch.config === 'object' && patch.config !== null
        ? { ...(stored.definition.config as object), ...patch.config }
        : (patch.config ?? (isSameType ? stored.definition.config : undefined));
    return { ...stored.definition, ...patch, type, config };
  };
  const patch = isSameType ? keepMasked(maskedOf(stored.type), body, stored.definition, { merge }) : body;
  const parsed = AlertChannelInput.safeParse(merge(patch));
  // The route knows the fields of no type, so the fields of a new channel of this type are checked.
  const unknown = unknownFieldIssues(alertChannelRoutes.createAlertChannel, { ...body, type });
  if (!parsed.success || unknown.length > 0) {
    throw validationError('payload', [...unknown, ...(parsed.error?.issues ?? [])]);
  }
  return parsed.data;
}

/** @throws AppError VALIDATION_FAILED if a channel of that type could never be delivered to. */
function requireDeliverable({ type, config }: AlertChannelInput, settings: ChannelSettings): void {
  const kind = findChannelKind(type);
  const why = kind?.whyUndelivered(settings, config);
  if (!kind?.isRefusedUndelivered || why === undefined) return;
  throw fieldError('payload', [{ key: 'type', message: `is not possible here. ${why}` }]);
}

async function requireTemplates(accountId: string, channel: AlertChannelInput): Promise<void> {
  if (findChannelKind(channel.type)?.sender.kind !== 'template') return;
  const problems = await templateThread.problems(accountId, channel.config as WebhookConfig);
  if (problems.length > 0) throw fieldError('payload', problems);
}

function view(
  channel: AlertChannel,
  subscriptions: readonly AlertSubscriptionRow[],
  settings: ChannelSettings,
): ShownChannel {
  // The config matches the type: channels are stored as their schema returned them.
  const shown = maskDefinition(maskedOf(channel.type), {
    // Channels that an older build stored lack this flag.
    sendGap: true,
    ...channel.definition,
    type: channel.type,
  }) as unknown as AlertChannelInput;
  return {
    ...shown,
    id: channel.id,
    isDelivered: whyUndelivered(channel, settings) === undefined,
    subscriptions: subscriptions.map(subscriptionView),
    warnings: warningsOf(channel, subscriptions, settings),
    created_at: new Date(channel.created).toISOString(),
    updated_at: channel.updated === null ? null : new Date(channel.updated).toISOString(),
  };
}

function maskedOf(type: string) {
  return findChannelKind(type)?.masked ?? [];
}

/** Why nothing reaches the receiver of a channel, or undefined if it does. */
function whyUndelivered({ type, definition }: AlertChannel, settings: ChannelSettings): string | undefined {
  return findChannelKind(type)?.whyUndelivered(settings, definition.config);
}

function warningsOf(
  channel: AlertChannel,
  subscriptions: readonly AlertSubscriptionRow[],
  settings: ChannelSettings,
): Warning[] {
  const undelivered = whyUndelivered(channel, settings);
  const warnings: Warning[] =
    undelivered === undefined ? [] : [{ code: 'NOT_DELIVERED', message: undelivered }];
  if (subscriptions.some(({ activated }) => activated === 1)) return warnings;
  const message = `No check or group is subscribed to this channel, so it gets no notifications. POST /v1/alert-channels/${channel.id}/subscriptions/bulk with {"all": true} or {"tags": ["…"]} subscribes checks.`;
  return [...warnings, { code: 'NO_SUBSCRIBER', message }];
}

function subscriptionView(row: AlertSubscriptionRow) {
  return {
    id: row.id,
    checkId: row.check_id,
    groupId: row.group_id,
    activated: row.activated === 1,
  };
}
