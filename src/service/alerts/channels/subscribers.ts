import { fieldError } from '@picket/platform/http/validation.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Warning } from '@picket/protocol/http/warning.ts';

/** A subscriber as it is written: a check or a group. */
export interface WrittenSubscription {
  readonly checkId: string | null;
  readonly groupId: number | null;
  readonly activated: boolean;
}

/**
 * Replaces the subscribers of a channel.
 *
 * @throws AppError VALIDATION_FAILED naming each that is not a check or group of the account.
 */
export async function writeSubscribers(
  repositories: Pick<Repositories, 'alertChannels' | 'checks' | 'groups'>,
  accountId: string,
  channelId: number,
  subscriptions: readonly WrittenSubscription[],
): Promise<void> {
  const wanted = subscriptions.map((one) => ({ ...one, checkId: one.checkId?.toLowerCase() ?? null }));
  const checks = await repositories.checks.findMany(wanted.flatMap(({ checkId }) => checkId ?? []));
  const groups = await repositories.groups.findMany(wanted.flatMap(({ groupId }) => groupId ?? []));
  const problems = wanted.flatMap(({ checkId, groupId }, index) => {
    const problem = (field: string, message: string) => [{ key: `subscriptions.${index}.${field}`, message }];
    if ((checkId === null) === (groupId === null)) {
      return problem('checkId', 'or "groupId" is required, but not both');
    }
    if (checkId !== null) {
      const isKnown = checks.get(checkId)?.accountId === accountId;
      return isKnown ? [] : problem('checkId', `names no check: ${checkId}`);
    }
    const isKnown = groupId !== null && groups.get(groupId)?.accountId === accountId;
    return isKnown ? [] : problem('groupId', `names no check group: ${groupId}`);
  });
  if (problems.length > 0) throw fieldError('payload', problems);
  await repositories.alertChannels.setSubscribers(channelId, wanted);
}

export interface BulkSubscription {
  /** Absent: every check. */
  readonly tags?: readonly string[] | undefined;
  readonly activated: boolean;
}

/**
 * Subscribes all checks of an account, or those with one of the tags (their own or their group's). A group with
 * channels of its own is subscribed in place of its checks, unless that would notify of checks without such a tag.
 * Other groups are not subscribed, because the channels of their checks would then no longer count.
 */
export async function subscribeMany(
  repositories: Pick<Repositories, 'alertChannels'>,
  accountId: string,
  channelId: number,
  { tags, activated }: BulkSubscription,
): Promise<{ checks: number; groups: number; warnings: Warning[] }> {
  const { alertChannels } = repositories;
  const found = await alertChannels.subscribable(accountId, tags);
  const groupIds = found.groups.map(({ id }) => id);
  await alertChannels.subscribeAll(
    channelId,
    { checkIds: found.checks.map(({ id }) => id), groupIds },
    activated,
  );
  const decided = new Set(groupIds);
  const others = await alertChannels.groupsWithChannels(accountId);
  const unheard = found.checks.filter(
    ({ group_id: id }) => id !== null && others.has(id) && !decided.has(id),
  ).length;
  const message = `${unheard} of the checks are in groups with their own channels and without such a tag. The channels of the groups are notified instead. Subscribe the groups.`;
  return {
    checks: found.checks.length,
    groups: groupIds.length,
    warnings: unheard === 0 ? [] : [{ code: 'GROUP_CHANNELS', message }],
  };
}
