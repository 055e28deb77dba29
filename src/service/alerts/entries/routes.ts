import { failureWords } from '@picket/checks/judging/failure-words.ts';
import {
  type AnyHandler,
  type HandlerDeps,
  handlersById,
  iso,
  optionalIso,
} from '@picket/platform/feature/handler.ts';
import { found } from '@picket/platform/http/known-names.ts';
import { describePage, pageOffset } from '@picket/platform/http/paging.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import type { Store } from '@picket/platform/store/store.ts';
import {
  type AlertEntry,
  alertEntryRoutes,
  type EntryNotification,
} from '@picket/protocol/alerts/alert-entry.ts';
import { instantOf } from '@picket/protocol/http/query.ts';
import { tagsOf, withGroups } from '../../checks/effective-check.ts';
import { channelName } from '../handling/notified.ts';
import { storedFacts } from '../raise.ts';
import { endedEntries, endedEntry } from './ended-entries.ts';
import { type CheckPlace, type Entry, type EntryFilter, matches, stateOf, typesByKind } from './entry.ts';
import { openEntries } from './open-entries.ts';
import type { EntryNotificationRow } from './store.ts';

const dayMs = 86_400_000;
const shownDays = 7;
const mostDays = 92;
const mostMembers = 200;
/** The end of a cause is reported some minutes after its last check has recovered. */
const reportedAfterMs = 3_600_000;

/** Routes of the list of alerts: what is wrong, and what has ended. */
export function alertEntryHandlers({ store, clock, publicUrl }: HandlerDeps): [string, AnyHandler][] {
  return handlersById(alertEntryRoutes, {
    async listAlertEntries({ caller, query, request, reply }) {
      const { accountId } = caller;
      const now = clock.wallMs();
      const period = periodOf(query, now);
      const all =
        query.state === 'ENDED'
          ? await endedEntries(store, accountId, period)
          : await openEntries(store, accountId, now);
      const isNotified = await notifiedBy(store, { accountId, channelId: query.alertChannelId }, all);
      const places = await placesOf(store, query, all);
      const entries = all.filter((entry) => isNotified(entry) && matches(entry, query, places));
      describePage(request, reply, { query, total: entries.length, publicUrl });
      const offset = pageOffset(query);
      const shown = await withReasons(store, entries.slice(offset, offset + query.limit), now);
      return shown.map(entryView);
    },
    async listLatestNotifications({ caller, query, request, reply }) {
      const ids = (await store.alertChannels.all(caller.accountId)).map(({ id }) => id);
      describePage(request, reply, { query, total: ids.length, publicUrl });
      const offset = pageOffset(query);
      const rows = await store.alertEntries.latestOf(ids.slice(offset, offset + query.limit));
      return rows.map(notificationView);
    },
    async getAlertEntry({ caller, params }) {
      const { accountId } = caller;
      const now = clock.wallMs();
      const entry = await entryById(store, { accountId, id: params.id, now });
      const [shown] = await withReasons(store, [found(entry, `alert ${params.id}`)], now);
      const known = found(shown, `alert ${params.id}`);
      const rows = await store.alertEntries.notifications({
        accountId,
        causeId: known.causeId,
        subjectIds: subjectsOf(known),
        types: typesByKind[known.kind],
        from: known.since,
        to: known.ended === null ? now : known.ended + reportedAfterMs,
      });
      return { ...entryView(known), notifications: rows.map(notificationView) };
    },
  });
}

async function entryById(
  store: Store,
  { accountId, id, now }: { readonly accountId: string; readonly id: string; readonly now: number },
): Promise<Entry | undefined> {
  const [, endId] = /^ended_(.+)$/.exec(id) ?? [];
  if (endId !== undefined) return endedEntry(store, accountId, endId);
  const open = await openEntries(store, accountId, now);
  const [, checkId] = /^check_(.+)$/.exec(id) ?? [];
  // A check that failed alone may have joined others since.
  return (
    open.find((entry) => entry.id === id) ??
    open.find(({ kind, members }) => kind === 'CAUSE' && members.some((member) => member.checkId === checkId))
  );
}

/** When entries ended that are listed: `from` inclusive, `to` exclusive. */
function periodOf(
  query: { readonly from?: string | undefined; readonly to?: string | undefined },
  now: number,
): { from: number; to: number } {
  const to = instantOf(query.to) ?? now + 1;
  const from = instantOf(query.from) ?? to - shownDays * dayMs;
  if (to < from) throw fieldError('query', [{ key: 'to', message: 'must not be before "from"' }]);
  if (to - from > mostDays * dayMs) {
    throw fieldError('query', [{ key: 'from', message: `must be at most ${mostDays} days before "to"` }]);
  }
  return { from, to };
}

/** Whether a channel was notified of an entry; without a channel, every entry counts. */
async function notifiedBy(
  store: Store,
  { accountId, channelId }: { readonly accountId: string; readonly channelId: number | undefined },
  entries: readonly Entry[],
): Promise<(entry: Entry) => boolean> {
  if (channelId === undefined || entries.length === 0) return () => true;
  const since = entries.reduce((first, entry) => Math.min(first, entry.since), Number.POSITIVE_INFINITY);
  const { subjectIds, causeIds } = await store.alertEntries.notifiedBy(accountId, channelId, since);
  return (entry) =>
    (entry.causeId !== null && causeIds.has(entry.causeId)) ||
    subjectsOf(entry).some((id) => subjectIds.has(id));
}

function subjectsOf({ members, subjectId }: Entry): string[] {
  return [...members.map(({ checkId }) => checkId), ...(subjectId === undefined ? [] : [subjectId])];
}

/** Groups and tags of the checks of entries, if a condition names one. */
async function placesOf(
  store: Store,
  { groupId, tag }: Pick<EntryFilter, 'groupId' | 'tag'>,
  entries: readonly Entry[],
): Promise<ReadonlyMap<string, CheckPlace>> {
  if (groupId === undefined && tag === undefined) return new Map();
  const ids = entries.flatMap(({ members }) => members.map(({ checkId }) => checkId));
  const checks = await withGroups(store, [...(await store.checks.findMany(ids)).values()]);
  return new Map(checks.map((check) => [check.id, { groupId: check.groupId, tags: tagsOf(check) }]));
}

/** Adds what the last run that did not pass says, to entries without a reason. */
async function withReasons(store: Store, entries: readonly Entry[], now: number): Promise<Entry[]> {
  const single = entries.filter(({ kind, ended }) => kind === 'CHECK' && ended === null);
  const ids = single.flatMap(({ members }) => members[0]?.checkId ?? []);
  if (ids.length === 0) return [...entries];
  const slots = await store.overviews.recentSlots(ids, 10, now);
  return entries.map((entry) => {
    const [member] = entry.members;
    if (!member || !single.includes(entry)) return entry;
    const bad = slots.get(member.checkId)?.find((slot) => slot.has_failures === 1 || slot.has_errors === 1);
    if (!bad) {
      return entry.severity === 'DEGRADED' ? { ...entry, reason: 'Slower than allowed' } : entry;
    }
    const { sentence: reason, whatFailed } = failureWords(bad);
    return {
      ...entry,
      reason,
      whatFailed,
      members: [{ ...member, resultId: bad.result_id ?? member.resultId }],
    };
  });
}

function entryView(entry: Entry): AlertEntry {
  const { members, acknowledgement } = entry;
  return {
    id: entry.id,
    kind: entry.kind,
    severity: entry.severity,
    state: stateOf(entry),
    name: entry.name,
    reason: entry.reason,
    whatFailed: entry.whatFailed,
    since: iso(entry.since),
    endedAt: optionalIso(entry.ended),
    locations: [...entry.locations],
    memberCount: members.length,
    members: members.slice(0, mostMembers).map((member) => ({
      checkId: member.checkId,
      name: member.name,
      location: member.location,
      since: iso(member.since),
      joinedAt: optionalIso(member.joined),
      recoveredAt: optionalIso(member.recovered),
      checkResultId: member.resultId,
    })),
    acknowledgement: acknowledgement
      ? { at: iso(acknowledgement.at), by: acknowledgement.by, comment: acknowledgement.comment }
      : null,
    silencedUntil: optionalIso(entry.silencedUntil),
    suppressedBy: entry.suppressedBy,
    notified: entry.notified,
  };
}

function notificationView(row: EntryNotificationRow): EntryNotification {
  return {
    id: row.id,
    alertChannelId: row.channel_id,
    type: row.channel_type,
    channelName: channelName(row),
    alertType: row.alert_type,
    checkName: storedFacts(row).checkName,
    created_at: iso(row.created),
    endedAt: optionalIso(row.ended),
    status: row.status,
    answer: row.result,
    tries: row.tries,
  };
}
