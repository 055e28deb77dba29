import { keepMasked, maskDefinition } from '../../../checks/contract/masking.ts';
import {
  AlertChannelInput,
  alertChannelRoutes,
  maskedInChannels,
  type AlertChannel as ShownChannel,
  undeliveredTypes,
} from '../../../protocol/alerts/alert-channel.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '../../http/handler.ts';
import { found, notFound } from '../../http/known-names.ts';
import { describePage, pageOffset } from '../../http/paging.ts';
import { fieldError, validationError } from '../../http/validation.ts';
import type { Repositories } from '../../store.ts';
import { templateProblems } from '../delivery/webhook.ts';
import type { AlertSubscriptionRow } from '../tables.ts';
import type { AlertChannel } from './store.ts';

/** The routes of alert channels. */
export function alertChannelHandlers({ store, clock, publicUrl }: HandlerDeps): [string, AnyHandler][] {
  const viewOf = async (channel: AlertChannel) =>
    view(channel, await store.alertChannels.subscriptionsOf([channel.id]));
  return handlersById(alertChannelRoutes, {
    async listAlertChannels({ caller, query, request, reply }) {
      const page = { limit: query.limit, offset: pageOffset(query) };
      const { total, rows: channels } = await store.alertChannels.list(caller.accountId, page);
      const subscriptions = await store.alertChannels.subscriptionsOf(channels.map(({ id }) => id));
      const byChannel = Map.groupBy(subscriptions, (row) => row.channel_id);
      describePage(request, reply, { query, total, publicUrl });
      return channels.map((channel) => view(channel, byChannel.get(channel.id) ?? []));
    },
    async createAlertChannel({ caller, body }) {
      requireTemplates(body);
      const { type, ...definition } = body;
      const inserted = await store.alertChannels.insert({
        account_id: caller.accountId,
        type,
        definition: JSON.stringify(definition),
        created: clock.wallMs(),
        updated: null,
      });
      return viewOf(inserted);
    },
    async getAlertChannel({ caller, params }) {
      return viewOf(await requireChannel(store, caller.accountId, params.id));
    },
    async updateAlertChannel({ caller, params, body }) {
      const changed = await store.transaction(async (repositories) => {
        const [accountId, what] = [caller.accountId, `alert channel ${params.id}`];
        const stored = found(await repositories.alertChannels.findForUpdate(accountId, params.id), what);
        const { type, ...definition } = merged(stored, body);
        const row = { type, definition: JSON.stringify(definition), updated: clock.wallMs() };
        const identity = { account_id: accountId, id: stored.id };
        return found(await repositories.alertChannels.update({ ...row, ...identity }), what);
      });
      return viewOf(changed);
    },
    async deleteAlertChannel({ caller, params }) {
      const isDeleted = await store.alertChannels.delete(caller.accountId, params.id);
      if (!isDeleted) throw notFound(`alert channel ${params.id}`);
    },
    async updateAlertChannelSubscriptions({ caller, params, body }) {
      const { checkId, groupId, activated } = body;
      const row = await store.transaction(async (repositories) => {
        const { id } = await requireChannel(repositories, caller.accountId, params.id);
        if ((checkId === null) === (groupId === null)) {
          const message = 'or "groupId" is required, and not both';
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
  });
}

async function requireChannel(
  repositories: Repositories,
  accountId: string,
  id: number,
): Promise<AlertChannel> {
  return found(await repositories.alertChannels.find(accountId, id), `alert channel ${id}`);
}

/** A body merged into the stored channel; a config of another type replaces the old one whole. */
function merged(stored: AlertChannel, body: Readonly<Record<string, unknown>>): AlertChannelInput {
  const type = body.type ?? stored.type;
  const isSameType = type === stored.type;
  const patch = isSameType ? keepMasked(maskedInChannels, body, stored.definition) : body;
  const config =
    isSameType && typeof patch.config === 'object' && patch.config !== null
      ? { ...(stored.definition.config as object), ...patch.config }
      : (patch.config ?? (isSameType ? stored.definition.config : undefined));
  const parsed = AlertChannelInput.safeParse({ ...stored.definition, ...patch, type, config });
  if (!parsed.success) throw validationError('payload', parsed.error.issues);
  requireTemplates(parsed.data);
  return parsed.data;
}

function requireTemplates(channel: AlertChannelInput): void {
  if (channel.type !== 'WEBHOOK') return;
  const problems = templateProblems(channel.config);
  if (problems.length > 0) throw fieldError('payload', problems);
}

function view(channel: AlertChannel, subscriptions: readonly AlertSubscriptionRow[]): ShownChannel {
  // The config is the one of the type: channels are stored as their schema returned them.
  const shown = maskDefinition(maskedInChannels, {
    ...channel.definition,
    type: channel.type,
  }) as unknown as AlertChannelInput;
  return {
    ...shown,
    id: channel.id,
    isDelivered: !undeliveredTypes.has(channel.type),
    subscriptions: subscriptions.map(subscriptionView),
    created_at: new Date(channel.created).toISOString(),
    updated_at: channel.updated === null ? null : new Date(channel.updated).toISOString(),
  };
}

function subscriptionView(row: AlertSubscriptionRow) {
  return {
    id: row.id,
    checkId: row.check_id,
    groupId: row.group_id,
    activated: row.activated === 1,
  };
}
