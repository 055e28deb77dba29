import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Subscriber } from '../checks/store.ts';

/**
 * Id of a subscription, derived from what it connects: rows of subscriptions are rewritten whenever the channels of a
 * check change, and their numbers with them.
 */
export function subscriptionId(subscription: {
  readonly alertChannelId: number;
  readonly checkId: string | null;
  readonly groupId: number | null;
}): string {
  const { alertChannelId, checkId, groupId } = subscription;
  return checkId === null ? `${alertChannelId}/group/${groupId}` : `${alertChannelId}/check/${checkId}`;
}

/** Channel and subscriber of a subscription id. */
export function ownerOf(id: string): { readonly alertChannelId: number; readonly subscriber: Subscriber } {
  const [channel, kind, owner = ''] = id.split('/');
  return {
    alertChannelId: Number(channel),
    subscriber: kind === 'check' ? { checkId: owner } : { groupId: Number(owner) },
  };
}

/** The stored subscription with that id. */
export async function subscriptionIn(
  { alertChannels }: Pick<Repositories, 'alertChannels'>,
  id: string,
): Promise<{ readonly activated: boolean } | undefined> {
  const { alertChannelId, subscriber } = ownerOf(id);
  const present =
    'checkId' in subscriber
      ? (await alertChannels.ofChecks([subscriber.checkId])).get(subscriber.checkId)
      : (await alertChannels.ofGroups([subscriber.groupId])).get(subscriber.groupId);
  return present?.find(({ channel }) => channel.id === alertChannelId);
}
