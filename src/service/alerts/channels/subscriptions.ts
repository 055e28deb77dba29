import { fieldError } from '../../http/validation.ts';
import type { Nouns } from '../../store/store.ts';
import type { StoredChannel } from './rules.ts';
import type { Subscriber, Subscription } from './store.ts';

/**
 * Makes sure that a body names only channels of its account.
 *
 * @throws AppError VALIDATION_FAILED naming each entry that does not.
 */
export async function requireChannels(
  nouns: Nouns,
  accountId: string,
  subscriptions: readonly Subscription[],
): Promise<void> {
  if (subscriptions.length === 0) return;
  const known = new Set((await nouns.alertChannels.all(accountId)).map(({ id }) => id));
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
 * Subscribes a new check or group: to the channels it names, to every channel of the account when `isAutoAssigned`
 * (`autoAssignAlerts`), and to those that subscribe new checks by themselves. What it names wins: it may name a channel as
 * not activated.
 */
export async function subscribeNew(
  nouns: Nouns,
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
  await requireChannels(nouns, accountId, named);
  const channels = await nouns.alertChannels.all(accountId);
  const byItself = channels.filter(
    ({ definition }) => isAutoAssigned || (definition as unknown as StoredChannel).autoSubscribe,
  );
  const taken = new Set(named.map(({ alertChannelId }) => alertChannelId));
  const subscriptions = [
    ...named,
    ...byItself.filter(({ id }) => !taken.has(id)).map(({ id }) => ({ alertChannelId: id, activated: true })),
  ];
  if (subscriptions.length > 0) await nouns.alertChannels.setSubscriptions(subscriber, subscriptions);
}

/** Gives a check or group the subscriptions its body names; without any in the body it keeps those it has. */
export async function changeSubscriptions(
  nouns: Nouns,
  subscriber: Subscriber,
  { accountId, named }: { readonly accountId: string; readonly named: readonly Subscription[] | undefined },
): Promise<void> {
  if (named === undefined) return;
  await requireChannels(nouns, accountId, named);
  await nouns.alertChannels.setSubscriptions(subscriber, named);
}
