import { randomUUID } from 'node:crypto';
import type { FailedTest } from '@picket/checks/contract/check-type.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import type { RunRow } from '../../runs/tables.ts';
import type { ErrorGroupRow } from '../tables.ts';
import { cleanedMessage, errorHash, isAssertion } from './cleaned-message.ts';
import { areAlike, mayBeAlike } from './similarity.ts';
import { type GroupOwner, groupKey } from './store.ts';

/** Environments in which an error occurred. */
export const groupEnvironments = storedValue<readonly string[]>('error_groups.environments', []);
const testsOf = storedValue<readonly object[]>('error_groups.tests', []);

/** A result and its error messages. */
export interface FailedResult {
  readonly id: string;
  readonly owner: GroupOwner;
  /** Environment of its test session. */
  readonly environment?: string | null | undefined;
  readonly messages: readonly string[];
  /** Whether it is the result that its run failed with: an attempt that is retried is not a failed run yet. */
  readonly hasFailedRun: boolean;
  /** Tests in which its errors occurred. */
  readonly tests?: readonly FailedTest[] | undefined;
}

/** One error of one owner, with the results of the batch that contain it, and those that a run failed with. */
interface Occurrence {
  readonly owner: GroupOwner;
  readonly raw: string;
  readonly cleaned: string;
  readonly hash: string;
  readonly resultIds: Set<string>;
  readonly failedRuns: Set<string>;
  readonly environments: Set<string>;
  readonly tests: FailedTest[];
}

/** A group and the parts of a batch that joined it. */
interface Joined extends Pick<Occurrence, 'resultIds' | 'failedRuns' | 'environments' | 'tests'> {
  readonly group: ErrorGroupRow;
}

const maxGroupsPerResult = 50;
const comparedGroups = 50;
/**
 * Limits on the cost of a batch of results: message comparisons, and new groups. Batches of real errors stay far below;
 * beyond the limits, errors are matched only by hash, and new ones join no group.
 */
const maxComparisons = 400;
const maxNewGroups = 200;
const maxRawLength = 10_000;
const maxEnvironments = 100;
const maxTests = 100;
/** Shorter than any retention period. */
const longUnseenMs = 43_200_000;

/**
 * Finds or creates the groups for the errors of results, in the transaction that stores the results. An error joins the
 * group of its owner with the same hash, else one whose cleaned message is at least 80 % similar, else it creates a
 * group. An archived group that gets a new error is reopened, unless it was archived permanently.
 *
 * @returns the ids of the groups by result id; results without messages have none.
 */
export async function groupErrors(
  repositories: Repositories,
  results: readonly FailedResult[],
  now: number,
): Promise<Map<string, string[]>> {
  const occurrences = occurrencesOf(results);
  const groupIds = new Map<string, string[]>();
  if (occurrences.length === 0) return groupIds;
  const joined = new Map<string, Joined>();
  const newest = new Map<string, ErrorGroupRow[]>();
  const byHash = new Map<string, ErrorGroupRow>();
  for (const ofOneKind of Map.groupBy(occurrences, ({ owner }) => owner.kind).values()) {
    for (const [key, group] of await repositories.errorGroups.findByHashes(ofOneKind)) byHash.set(key, group);
  }
  const comparisons = { left: maxComparisons };
  let newGroups = 0;
  const madeGroups: ErrorGroupRow[] = [];
  for (const occurrence of occurrences) {
    let found =
      byHash.get(groupKey(occurrence.owner, occurrence.hash)) ??
      (await similarGroup(repositories, occurrence, newest, comparisons));
    if (!found) {
      if (newGroups === maxNewGroups) continue;
      newGroups += 1;
      const made = await makeGroup(repositories, occurrence, newest, now);
      found = made.group;
      if (made.isNew) madeGroups.push(made.group);
    }
    const group = await kept(repositories, found, now);
    const entry: Joined = joined.get(group.id) ?? {
      group,
      resultIds: new Set(),
      failedRuns: new Set(),
      environments: new Set(),
      tests: [],
    };
    for (const id of occurrence.resultIds) entry.resultIds.add(id);
    for (const id of occurrence.failedRuns) entry.failedRuns.add(id);
    for (const environment of occurrence.environments) entry.environments.add(environment);
    entry.tests.push(...occurrence.tests);
    joined.set(group.id, entry);
  }
  await repositories.errorGroups.countSeen(
    [...joined.values()].map(({ group, failedRuns, environments, tests }) => ({
      id: group.id,
      runs: failedRuns.size,
      environments: mergedEnvironments(group, environments),
      tests: mergedTests(group, tests),
    })),
    now,
  );
  await askForCauses(repositories, madeGroups, now);
  for (const [groupId, { resultIds }] of joined) {
    for (const id of resultIds) groupIds.set(id, [...(groupIds.get(id) ?? []), groupId]);
  }
  return groupIds;
}

/** A group that was not seen for long may be deleted at this moment: writing it again keeps or recreates it. */
async function kept(repositories: Repositories, group: ErrorGroupRow, now: number): Promise<ErrorGroupRow> {
  if (now - group.last_seen < longUnseenMs) return group;
  return repositories.errorGroups.insert({ ...group, last_seen: now });
}

/** The errors of a run's result and their owner: the check, or the project of its test session. */
export function failedResult(
  run: Pick<RunRow, 'account_id' | 'check_id'>,
  id: string,
  messages: readonly string[],
  {
    session,
    ...more
  }: Pick<FailedResult, 'hasFailedRun' | 'tests'> & {
    readonly session?:
      | { readonly project_id: string | null; readonly environment: string | null }
      | undefined;
  },
): FailedResult {
  const accountId = run.account_id;
  const owner: GroupOwner = session
    ? { accountId, kind: 'test-session', ownerId: session.project_id ?? '' }
    : { accountId, kind: 'check', ownerId: run.check_id };
  return { id, owner, environment: session?.environment, messages, ...more };
}

/** The distinct errors of a batch, in a fixed order, so that two batches cannot deadlock. */
function occurrencesOf(results: readonly FailedResult[]): Occurrence[] {
  const byKey = new Map<string, Occurrence>();
  for (const { id, owner, environment, messages, hasFailedRun, tests } of results) {
    for (const message of messages.slice(0, maxGroupsPerResult)) {
      const raw = storable(message).slice(0, maxRawLength).toWellFormed();
      const cleaned = cleanedMessage(raw);
      if (cleaned === '') continue;
      const hash = errorHash(cleaned);
      const key = groupKey(owner, hash);
      const occurrence: Occurrence = byKey.get(key) ?? {
        owner,
        raw,
        cleaned,
        hash,
        resultIds: new Set(),
        failedRuns: new Set(),
        environments: new Set(),
        tests: [],
      };
      occurrence.resultIds.add(id);
      if (hasFailedRun) occurrence.failedRuns.add(id);
      occurrence.tests.push(...(tests ?? []).filter((test) => test.message === message));
      if (environment) occurrence.environments.add(environment);
      byKey.set(key, occurrence);
    }
  }
  return [...byKey].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, occurrence]) => occurrence);
}

async function similarGroup(
  repositories: Pick<Repositories, 'errorGroups'>,
  { owner, cleaned }: Occurrence,
  newest: Map<string, ErrorGroupRow[]>,
  comparisons: { left: number },
): Promise<ErrorGroupRow | undefined> {
  if (isAssertion(cleaned)) return undefined;
  const candidates = await newestOf(repositories, owner, newest);
  return candidates.find((group) => {
    if (isAssertion(group.cleaned_message) || !mayBeAlike(group.cleaned_message, cleaned)) return false;
    if (comparisons.left === 0) return false;
    comparisons.left -= 1;
    return areAlike(group.cleaned_message, cleaned);
  });
}

async function newestOf(
  repositories: Pick<Repositories, 'errorGroups'>,
  owner: GroupOwner,
  newest: Map<string, ErrorGroupRow[]>,
): Promise<ErrorGroupRow[]> {
  const key = groupKey(owner, '');
  const known = newest.get(key) ?? (await repositories.errorGroups.newest(owner, comparedGroups));
  newest.set(key, known);
  return known;
}

async function makeGroup(
  repositories: Pick<Repositories, 'errorGroups'>,
  { owner, raw, cleaned, hash }: Occurrence,
  newest: Map<string, ErrorGroupRow[]>,
  now: number,
): Promise<{ readonly group: ErrorGroupRow; readonly isNew: boolean }> {
  const row: ErrorGroupRow = {
    id: randomUUID(),
    account_id: owner.accountId,
    kind: owner.kind,
    owner_id: owner.ownerId,
    error_hash: hash,
    raw_message: raw,
    cleaned_message: cleaned,
    first_seen: now,
    last_seen: now,
    count: 0,
    is_archived: 0,
    is_archived_for_ever: 0,
    environments: '[]',
    tests: null,
  };
  const made = await repositories.errorGroups.insert(row);
  const others = newest.get(groupKey(owner, '')) ?? [];
  newest.set(groupKey(owner, ''), [made, ...others.slice(0, comparedGroups - 1)]);
  return { group: made, isNew: made.id === row.id };
}

/** Requests an automatic root-cause analysis once for each new error. */
async function askForCauses(
  { analyses }: Pick<Repositories, 'analyses'>,
  groups: readonly ErrorGroupRow[],
  now: number,
): Promise<void> {
  await analyses.ask(
    groups.map(({ id, account_id: accountId, kind }) => ({
      id: randomUUID(),
      ...{ accountId, groupId: id, groupKind: kind, isAutomatic: true, userContext: null },
    })),
    now,
  );
}

function mergedEnvironments(group: ErrorGroupRow, seen: ReadonlySet<string>): string {
  const before = groupEnvironments(group.environments);
  return JSON.stringify([...new Set([...before, ...seen])].slice(0, maxEnvironments));
}

/** One entry per occurrence, newest first. */
function mergedTests(group: ErrorGroupRow, seen: readonly FailedTest[]): string | null {
  if (seen.length === 0) return group.tests;
  const before = group.tests === null ? [] : testsOf(group.tests);
  const now = seen.map(({ message: _message, ...test }) => test);
  return JSON.stringify([...now.reverse(), ...before].slice(0, maxTests));
}

/** Text that both engines can store: PostgreSQL does not allow NUL in text. */
function storable(text: string): string {
  return text.replaceAll('\u0000', '\uFFFD').toWellFormed();
}
