import { greatestOf, leastOf } from '@picket/lib/bounds/extremes.ts';
import { counted } from '@picket/lib/figures/count.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { reportedWithinMs } from '../causes/cause-watch.ts';
import type { OpenCause } from '../causes/open-cause.ts';
import { causeSubject } from '../causes/summary.ts';
import { explanationOf, type Unmeasured } from '../gaps/gap.ts';
import { notifiedOf } from '../handling/notified.ts';
import { type AlertPolicy, alertPolicies } from '../policy.ts';
import { isOpen, parseState, type StoredState } from '../stored-state.ts';
import { type Entry, type EntryMember, plainEntry } from './entry.ts';
import type { TroubledLocation } from './store.ts';

/** Open causes and gaps that are considered at most. */
const mostOpen = 2_000;

interface OpenCheck {
  readonly policy: AlertPolicy;
  readonly state: StoredState;
  readonly since: number;
}

/** Everything that is wrong at an account now, one entry for each cause; the newest first. */
export async function openEntries(store: Store, accountId: string, now: number): Promise<Entry[]> {
  const open = await openChecks(store, accountId, now);
  const page = { limit: mostOpen, offset: 0 };
  const { causes } = await store.alertCauses.list({ accountId, isOpen: true }, page);
  const { gaps } = await store.gaps.list(accountId, page);
  const locations = await store.alertEntries.troubledLocations(accountId, now - reportedWithinMs);
  const causeOf = new Map(
    causes.flatMap((cause) => presentIds(cause).map((id): [string, OpenCause] => [id, cause])),
  );
  const byCause = Map.groupBy(open, ({ policy }) => causeOf.get(policy.check.id)?.id ?? policy.check.id);
  const notified = new Map(
    (await notifiedOf(store, open)).map((one, index) => [open[index]?.policy.check.id, one]),
  );
  const wordsOf = (checkIds: readonly string[]) => {
    const all = checkIds.flatMap((id) => notified.get(id) ?? []);
    const sent = all.filter(({ channels }) => channels.length > 0);
    // Why no one was notified of one check matters only if no one was of another, either.
    return [...new Set((sent.length > 0 ? sent : all).map(({ words }) => words))].join('; ');
  };
  const entries = [
    ...[...byCause.values()].map((checks) =>
      ofChecks(checks, causeOf.get(checks[0]?.policy.check.id ?? ''), wordsOf),
    ),
    ...(await gapEntries(store, gaps)),
    ...locations.map(locationEntry),
  ];
  const silences = await store.silences.active([accountId], now);
  return entries
    .map((entry) => withSilence(entry, silences))
    .toSorted((one, other) => other.since - one.since || (one.id < other.id ? -1 : 1));
}

async function openChecks(store: Store, accountId: string, now: number): Promise<OpenCheck[]> {
  const states = (await store.alerts.statesOf(accountId)).flatMap((row) => {
    const state = parseState(row);
    return isOpen(state) ? [{ id: row.check_id, state }] : [];
  });
  const policies = await alertPolicies(
    store,
    states.map(({ id }) => id),
    now,
  );
  return states.flatMap(({ id, state }) => {
    const policy = policies.get(id);
    return policy ? [{ policy, state, since: state.episodeSince ?? state.alert.since }] : [];
  });
}

function presentIds({ members }: OpenCause): string[] {
  return members.filter(({ left }) => left == null).map(({ fact }) => fact.checkId);
}

function ofChecks(
  checks: readonly OpenCheck[],
  cause: OpenCause | undefined,
  wordsOf: (checkIds: readonly string[]) => string,
): Entry {
  const members = membersOf(checks, cause);
  const [first] = checks;
  const checkId = first?.policy.check.id ?? '';
  // It is handled once all of its failing checks are.
  const acknowledged = checks.map(({ state }) => state.acknowledgement ?? null);
  const silenced = checks.map(({ policy, state }) => policy.silenceAt(state.lastLocations)?.endsAt ?? null);
  const suppressed = checks.map(({ policy }) => policy.suppressedBy);
  const isShared = cause !== undefined && members.length > 1;
  return {
    ...plainEntry,
    id: isShared ? `cause_${cause.id}` : `check_${checkId}`,
    kind: isShared ? 'CAUSE' : 'CHECK',
    severity: severityOf(checks),
    name: isShared
      ? `${causeSubject(cause)}, ${counted(members.length, 'check')}`
      : (first?.policy.check.name ?? ''),
    reason: isShared ? cause.reason : null,
    since: isShared ? cause.began : (first?.since ?? 0),
    locations: [...new Set(checks.flatMap(({ state }) => state.lastLocations))].sort(),
    members,
    acknowledgement: allOf(acknowledged),
    silencedUntil: silenced.includes(null) ? null : leastOf(silenced.filter((at) => at !== null)),
    suppressedBy: allOf(suppressed),
    notified: wordsOf(checks.map(({ policy }) => policy.check.id)),
    causeId: cause?.id ?? null,
  };
}

/** The first of several values, or null if one is missing. */
function allOf<Value>(values: readonly (Value | null)[]): Value | null {
  return values.includes(null) ? null : (values[0] ?? null);
}

function severityOf(checks: readonly OpenCheck[]): Entry['severity'] {
  if (checks.some(({ state }) => state.alert.phase === 'failed')) return 'FAILING';
  return checks.some(({ state }) => state.alert.phase === 'degraded') ? 'DEGRADED' : 'FLAPPING';
}

/** Failing checks, and members of the cause that have recovered. */
function membersOf(checks: readonly OpenCheck[], cause: OpenCause | undefined): EntryMember[] {
  const known = new Map(cause?.members.map((member) => [member.fact.checkId, member]));
  const failing = checks.map(({ policy: { check }, state, since }): EntryMember => {
    const joined = known.get(check.id)?.joined ?? null;
    const { lastResultId: resultId } = state;
    return { checkId: check.id, name: check.name, location: null, since, joined, recovered: null, resultId };
  });
  const ids = new Set(failing.map(({ checkId }) => checkId));
  const others = (cause?.members ?? []).filter(
    ({ fact, recovered }) => recovered !== null && !ids.has(fact.checkId),
  );
  const recovered = others.map(
    ({ fact, joined, recovered: at }): EntryMember => ({
      ...{ checkId: fact.checkId, name: fact.name, location: null, since: fact.since },
      ...{ joined, recovered: at, resultId: null },
    }),
  );
  return [...failing, ...recovered].sort(
    (one, other) => (one.joined ?? one.since) - (other.joined ?? other.since),
  );
}

/** Gaps at one location for one reason are one entry. */
async function gapEntries(
  { checks }: Pick<Repositories, 'checks'>,
  gaps: readonly Unmeasured[],
): Promise<Entry[]> {
  const known = await checks.findMany(gaps.map(({ checkId }) => checkId));
  const nameOf = (id: string) => known.get(id)?.name ?? id;
  const groups = Map.groupBy(gaps, ({ location, cause }) => `${location}\n${cause}`);
  return [...groups.values()].flatMap((some) => {
    const [first] = some;
    if (!first) return [];
    const { checkId, location } = first;
    return {
      ...plainEntry,
      id: `gap_${checkId}_${location}`,
      kind: 'GAP' as const,
      severity: 'NOT_MEASURED' as const,
      name: some.length === 1 ? nameOf(checkId) : `${some.length} checks at ${location}`,
      reason: explanationOf(first),
      since: leastOf(some.map(({ since }) => since)),
      locations: [location],
      members: some.map((gap) => ({
        ...{ checkId: gap.checkId, name: nameOf(gap.checkId), location, since: gap.since },
        ...{ joined: gap.openedAt, recovered: null, resultId: null },
      })),
    };
  });
}

function locationEntry({ id, name, slugName, ...trouble }: TroubledLocation): Entry {
  return {
    ...plainEntry,
    ...locationTrouble(trouble),
    id: `location_${id}`,
    kind: 'LOCATION',
    name,
    whatFailed: 'the private location',
    locations: [slugName],
    members: [],
    subjectId: id,
  };
}

/** The gravest trouble of a location. */
function locationTrouble({
  noAgentSince,
  outdatedSince,
  unhealthySince,
  evidence,
}: Pick<TroubledLocation, 'noAgentSince' | 'outdatedSince' | 'unhealthySince' | 'evidence'>): Pick<
  Entry,
  'severity' | 'reason' | 'since'
> {
  if (noAgentSince !== null) {
    const reason =
      'No agent is connected, so checks are not measured there. Start one, or look at the log of the last one.';
    return { severity: 'NO_AGENT', reason, since: noAgentSince };
  }
  if (unhealthySince !== null || outdatedSince === null) {
    return {
      severity: 'UNHEALTHY',
      reason: `An agent reports: ${evidence ?? ''}`,
      since: unhealthySince ?? 0,
    };
  }
  const reason = 'Agents have an older major version than the service. Upgrade them.';
  return { severity: 'OUTDATED', reason, since: outdatedSince };
}

/** A silence of a location also holds back its gaps and outages. */
function withSilence(
  entry: Entry,
  silences: readonly { readonly location: string | null; readonly endsAt: number }[],
): Entry {
  if (entry.kind !== 'GAP' && entry.kind !== 'LOCATION') return entry;
  const ends = silences.filter(({ location }) => location !== null && entry.locations.includes(location));
  return ends.length === 0
    ? entry
    : { ...entry, silencedUntil: greatestOf(ends.map(({ endsAt }) => endsAt)) };
}
