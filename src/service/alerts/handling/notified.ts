import { findChannelKind } from '@picket/channels/index.ts';
import { leastOf } from '@picket/lib/bounds/extremes.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import type { OpenAlert } from '@picket/protocol/alerts/alert-handling.ts';
import { type StoredChannel, wantsNotice } from '../channels/rules.ts';
import type { NotifiedRow } from '../delivery/store.ts';
import { unknownFacts } from '../facts.ts';
import type { AlertPolicy } from '../policy.ts';
import type { StoredState } from '../stored-state.ts';

const configOf = storedValue<Readonly<Record<string, unknown>>>('alert_notifications.config', {});

interface Open {
  readonly policy: AlertPolicy;
  readonly state: StoredState;
}

/** Channels that were notified of open alerts according to the notification log, in order of the alerts. */
export async function notifiedOf(
  store: Pick<Store, 'notifications' | 'alertChannels'>,
  open: readonly Open[],
): Promise<OpenAlert['notified'][]> {
  const [first] = open;
  if (!first) return [];
  const since = leastOf(open.map(({ state }) => sinceOf(state)));
  const ids = open.map(({ policy }) => policy.check.id);
  const rows = await store.notifications.ofOpenAlerts(first.policy.check.accountId, ids, since);
  const answers: OpenAlert['notified'][] = [];
  for (const one of open) {
    const own = rows.filter(
      (row) => row.concerns === one.policy.check.id && row.created >= sinceOf(one.state),
    );
    // Of several notifications of a channel, the newest counts.
    const channels = [...new Map(own.map((row) => [row.channel_id, row])).values()];
    const words = channels.length > 0 ? wordsOf(channels) : await whyNoOne(store, one);
    answers.push({
      words,
      channels: channels.map((row) => ({
        alertChannelId: row.channel_id,
        type: row.channel_type,
        status: row.status,
      })),
    });
  }
  return answers;
}

/** Display name of the channel of a notification: `E-mail ops@example.com`. */
export function channelName({
  channel_type: type,
  config,
}: Pick<NotifiedRow, 'channel_type' | 'config'>): string {
  const { address, name, channel, serviceName } = configOf(config);
  const known = [address, name, channel, serviceName].find((one) => typeof one === 'string' && one !== '');
  const title = findChannelKind(type)?.title ?? type;
  return known === undefined ? title : `${title} ${String(known)}`;
}

function sinceOf({ episodeSince, alert }: StoredState): number {
  return episodeSince ?? alert.since;
}

function wordsOf(rows: readonly NotifiedRow[]): string {
  const named = (statuses: readonly string[], word: string) => {
    const names = rows.filter(({ status }) => statuses.includes(status)).map(channelName);
    return names.length === 0 ? [] : [`${word}${names.join(', ')}`];
  };
  return [
    ...named(['SUCCESS'], ''),
    ...named(['IN_PROGRESS'], 'sending to '),
    ...named(['QUIET'], 'not sent in quiet hours: '),
    ...named(['FAILURE', 'RATE_LIMITED'], 'not delivered: '),
  ].join('; ');
}

async function whyNoOne(
  { alertChannels }: Pick<Store, 'alertChannels'>,
  { policy, state }: Open,
): Promise<string> {
  const { check, groupId, suppressedBy } = policy;
  const channels = await alertChannels.notifiedOfCheck(check.id, groupId);
  if (channels.length === 0) return 'no one: no channel is subscribed';
  const notice = state.alert.phase === 'degraded' ? 'degraded' : 'failure';
  const isWanted = channels.some(({ definition }) =>
    wantsNotice(definition as StoredChannel, notice, unknownFacts),
  );
  if (!isWanted)
    return `no one: no subscribed channel takes ${notice === 'failure' ? 'failures' : 'degraded checks'}`;
  if (suppressedBy !== null)
    return `no one: ${suppressedBy === 'muted' ? 'the check is muted' : 'in maintenance'}`;
  if (policy.silenceAt(state.lastLocations)) return 'no one: the check is silenced';
  return state.alert.isSettled ? 'no one yet' : 'no one yet: the alert threshold is not reached';
}
