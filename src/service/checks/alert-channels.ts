import { type ChannelConfig, type ChannelType, findChannelKind } from '@picket/channels/index.ts';
import { maskDefinition } from '@picket/checks/contract/masking.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Subscriber, Subscription } from './store.ts';

/**
 * Ensures that a body names only channels of its account.
 *
 * @throws AppError VALIDATION_FAILED naming each entry that does not.
 */
export async function requireChannels(
  repositories: Pick<Repositories, 'alertChannels'>,
  accountId: string,
  subscriptions: readonly Subscription[],
): Promise<void> {
  if (subscriptions.length === 0) return;
  const known = new Set((await repositories.alertChannels.all(accountId)).map(({ id }) => id));
  const problems = subscriptions.flatMap(({ alertChannelId }, index) =>
    known.has(alertChannelId)
      ? []
      : [
          {
            key: `alertChannelSubscriptions.${index}.alertChannelId`,
            message: `names no alert channel: ${alertChannelId}`,
          },
        ],
  );
  if (problems.length > 0) throw fieldError('payload', problems);
}

/**
 * Subscribes a new check or group to the channels it names, to every channel of the account if `isAutoAssigned`
 * (`autoAssignAlerts`), and to channels that subscribe new checks automatically. Named channels take precedence: a
 * channel may be named as not activated.
 */
export async function subscribeNew(
  repositories: Pick<Repositories, 'alertChannels'>,
  subscriber: Subscriber,
  {
    accountId,
    named,
    isAutoAssigned,
  }: {
    readonly accountId: string;
    readonly named: readonly Subscription[];
    readonly isAutoAssigned: boolean;
  },
): Promise<void> {
  await requireChannels(repositories, accountId, named);
  const channels = await repositories.alertChannels.all(accountId);
  const byItself = channels.filter(({ definition }) => isAutoAssigned || definition.autoSubscribe === true);
  const taken = new Set(named.map(({ alertChannelId }) => alertChannelId));
  const subscriptions = [
    ...named,
    ...byItself.filter(({ id }) => !taken.has(id)).map(({ id }) => ({ alertChannelId: id, activated: true })),
  ];
  if (subscriptions.length > 0) await repositories.alertChannels.setSubscriptions(subscriber, subscriptions);
}

/** Replaces the subscriptions of a check or group with those in its body, if it has any. */
export async function changeSubscriptions(
  repositories: Pick<Repositories, 'alertChannels'>,
  subscriber: Subscriber,
  { accountId, named }: { readonly accountId: string; readonly named: readonly Subscription[] | undefined },
): Promise<void> {
  if (named === undefined) return;
  await requireChannels(repositories, accountId, named);
  await repositories.alertChannels.setSubscriptions(subscriber, named);
}

/** A channel that a check is subscribed to. */
export interface CheckChannel {
  readonly channel: {
    readonly id: number;
    readonly type: string;
    /** As its schema returned it: config and flags. */
    readonly definition: Record<string, unknown>;
  };
  readonly activated: boolean;
}

/** Subscriptions of a check or group as responses show them. */
export function subscriptionsView(subscribed: readonly CheckChannel[]) {
  return subscribed.map(({ channel, activated }) => ({ alertChannelId: channel.id, activated }));
}

/** Channels of a check as responses show them (spec.md, `alertChannelSubscriptions` and `alertChannels`). */
export function channelsView(subscribed: readonly CheckChannel[]) {
  const configs = <T extends ChannelType>(type: T) =>
    subscribed
      .filter(({ channel }) => channel.type === type)
      .map(({ channel }) => {
        const shown = maskDefinition(findChannelKind(type)?.masked ?? [], channel.definition);
        return (shown as { config: ChannelConfig<T> }).config;
      });
  return {
    alertChannelSubscriptions: subscriptionsView(subscribed),
    alertChannels: {
      email: configs('EMAIL').map(({ address }) => ({ address })),
      webhook: configs('WEBHOOK').map(({ url, name, method, headers, queryParameters }) => ({
        url,
        name,
        method,
        headers,
        queryParameters,
      })),
      slack: configs('SLACK').map(({ url }) => ({ url })),
      sms: configs('SMS').map(({ number, name }) => ({ number, name })),
    },
  };
}
