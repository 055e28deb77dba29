import { failureWords } from '@picket/checks/judging/failure-words.ts';
import { greatestOf, leastOf } from '@picket/lib/bounds/extremes.ts';
import { counted } from '@picket/lib/figures/count.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { OpenCause } from '../causes/open-cause.ts';
import { causeSubject } from '../causes/summary.ts';
import type { AlertFacts } from '../facts.ts';
import { storedFacts } from '../raise.ts';
import type { AlertRow } from '../tables.ts';
import { type Entry, type EntryMember, plainEntry, typesByKind } from './entry.ts';

/** An alert that reports an end, with its content. */
interface Ended {
  readonly row: AlertRow;
  readonly facts: AlertFacts;
  readonly since: number;
}

/** Alerts that have ended in a period, one entry for each cause; newest first. */
export async function endedEntries(
  store: Store,
  accountId: string,
  period: { readonly from: number; readonly to: number },
): Promise<Entry[]> {
  return entriesOf(store, await store.alertEntries.ends(accountId, period));
}

/** The entry of an alert that reports an end; undefined if no such alert exists. */
export async function endedEntry(store: Store, accountId: string, id: string): Promise<Entry | undefined> {
  const row = await store.alertEntries.end(accountId, id);
  const [entry] = row ? await entriesOf(store, [row]) : [];
  return entry;
}

async function entriesOf(store: Store, rows: readonly AlertRow[]): Promise<Entry[]> {
  const causes = await store.alertCauses.findMany(rows.flatMap((row) => row.cause_id ?? []));
  const ended = rows.map((row): Ended => {
    const facts = storedFacts(row);
    return { row, facts, since: facts.since ?? facts.startedAt ?? row.created };
  });
  // The alerts of a cause that is still open end one by one: they are no entry yet.
  const over = ended.filter(({ row }) => isOver(causes.get(row.cause_id ?? '')));
  const groups = Map.groupBy(over, ({ row }) => {
    const cause = causes.get(row.cause_id ?? '');
    return cause && cause.members.length > 1 ? cause.id : row.id;
  });
  const begun = await beginningsOf(store, over);
  return [...groups.values()].flatMap((some) => {
    const [newest] = some;
    return newest ? [entryOf(newest, some, { cause: causes.get(newest.row.cause_id ?? ''), begun })] : [];
  });
}

function isOver(cause: OpenCause | undefined): boolean {
  return cause === undefined || cause.members.length < 2 || cause.closed !== null;
}

/** The first alert of each that has ended, which has the reason. */
async function beginningsOf(store: Store, ended: readonly Ended[]): Promise<Map<string, AlertRow>> {
  if (ended.length === 0) return new Map();
  const rows = await store.alertEntries.beginnings(
    ended.map(({ row }) => row.check_id),
    {
      from: leastOf(ended.map(({ since }) => since)),
      to: greatestOf(ended.map(({ row }) => row.created)) + 1,
    },
  );
  const bySubject = Map.groupBy(rows, (row) => row.check_id);
  return new Map(
    ended.flatMap(({ row, facts, since }): [string, AlertRow][] => {
      const types = typesByKind[kindOf(row, facts, false).kind];
      const first = bySubject
        .get(row.check_id)
        ?.find((one) => one.created >= since && one.created <= row.created && types.includes(one.alert_type));
      return first ? [[row.id, first]] : [];
    }),
  );
}

function entryOf(
  { row, facts, since }: Ended,
  some: readonly Ended[],
  { cause, begun }: { readonly cause: OpenCause | undefined; readonly begun: ReadonlyMap<string, AlertRow> },
): Entry {
  const isShared = cause !== undefined && cause.members.length > 1;
  const first = begun.get(row.id);
  const began = first && storedFacts(first);
  const words = began?.error
    ? failureWords({ owner: began.owner ?? null, code: began.code ?? null, message: began.error })
    : undefined;
  const ends = some.map((one) => one.row.created);
  return {
    ...plainEntry,
    id: `ended_${row.id}`,
    ...kindOf(row, facts, isShared),
    name: isShared ? `${causeSubject(cause)}, ${counted(cause.members.length, 'check')}` : nameOf(facts),
    reason: isShared ? cause.reason : (words?.sentence ?? null),
    whatFailed: facts.subject === undefined && !isShared ? (words?.whatFailed ?? null) : null,
    since: isShared ? cause.began : since,
    ended: greatestOf(ends),
    locations: locationsOf(began ?? facts),
    members: isShared ? membersOf(cause) : ownMember({ row, facts, since }, first),
    causeId: cause?.id ?? null,
    subjectId: row.check_id,
  };
}

function kindOf(
  { alert_type: type }: AlertRow,
  { recoversFrom }: AlertFacts,
  isShared: boolean,
): Pick<Entry, 'kind' | 'severity'> {
  if (isShared) return { kind: 'CAUSE', severity: 'FAILING' };
  switch (type) {
    case 'ALERT_GAP_OVER':
      return { kind: 'GAP', severity: 'NOT_MEASURED' };
    case 'ALERT_LOCATION_BACK':
      return { kind: 'LOCATION', severity: 'NO_AGENT' };
    case 'ALERT_LOCATION_WELL':
      return { kind: 'LOCATION', severity: 'UNHEALTHY' };
    case 'ALERT_LOCATION_CURRENT':
      return { kind: 'LOCATION', severity: 'OUTDATED' };
    case 'ALERT_SLO_BURN_OVER':
      return { kind: 'ERROR_BUDGET', severity: 'FAILING' };
    default:
      return { kind: 'CHECK', severity: recoversFrom === 'degraded' ? 'DEGRADED' : 'FAILING' };
  }
}

function nameOf({ checkName, members, runLocation }: AlertFacts): string {
  const count = members?.count ?? 1;
  return count > 1 ? `${count} checks${runLocation === null ? '' : ` at ${runLocation}`}` : checkName;
}

function locationsOf({ locations, runLocation }: AlertFacts): readonly string[] {
  if (locations && locations.length > 0) return locations;
  return runLocation === null ? [] : [runLocation];
}

function membersOf({ members }: OpenCause): EntryMember[] {
  return members.map(({ fact, joined, recovered }) => ({
    ...{ checkId: fact.checkId, name: fact.name, location: null, since: fact.since },
    ...{ joined, recovered, resultId: null },
  }));
}

function ownMember({ row, facts, since }: Ended, first: AlertRow | undefined): EntryMember[] {
  if (facts.subject !== undefined && facts.subject !== 'gap') return [];
  const { checkName: name, runLocation } = facts;
  const location = facts.subject === 'gap' ? runLocation : null;
  const known = { checkId: row.check_id, name, location, since, joined: null, recovered: row.created };
  return [{ ...known, resultId: first?.result_id ?? null }];
}
