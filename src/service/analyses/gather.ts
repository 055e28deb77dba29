import type { Repositories } from '@picket/platform/store/repositories.ts';
import { storedChanges } from '../audit/changes.ts';
import { Maintenance } from '../maintenance/maintenance.ts';
import type { ChangeFacts, Company, Evidence, StoredRun } from './evidence.ts';
import type { ResultMark, ResultTable } from './evidence-store.ts';
import { fieldsOf } from './run-view/read.ts';
import { viewOf } from './run-view/run-view.ts';

type Group = NonNullable<Awaited<ReturnType<Repositories['errorGroups']['find']>>>;
type Check = NonNullable<Awaited<ReturnType<Repositories['checks']['find']>>>;

const maxFailing = 3;
const maxPassed = 5;
/** An older pass says little about what changed. */
const lookBackMs = 7 * 86_400_000;
/** Later than this after the error, the states of other checks are no longer evidence. */
const presentMs = 15 * 60_000;
/** Agents may report an event of their location slightly before or after the failures it caused. */
const eventSlackMs = 120_000;

/** Collects the evidence on an error group in a bounded number of queries. */
export async function gatherEvidence(
  repositories: Repositories,
  group: Group,
  now: number,
): Promise<Evidence> {
  const { analysisEvidence } = repositories;
  const isOfTests = group.kind === 'test-session';
  const table: ResultTable = isOfTests ? 'test_results' : 'results';
  const until = Math.max(group.last_seen, group.first_seen);
  const failing = isOfTests
    ? await analysisEvidence.withErrorOfTests(
        { accountId: group.account_id, projectId: group.owner_id },
        group.id,
        until,
        maxFailing,
      )
    : await analysisEvidence.withError(group.owner_id, group.id, until, maxFailing);
  const [newest] = failing;
  const checkId = newest?.check_id ?? group.owner_id;
  const check = await repositories.checks.find(group.account_id, checkId);
  const base = {
    check: {
      name: check?.name ?? 'the check',
      type: check?.checkType ?? '',
      createdAt: check ? iso(check.created) : null,
    },
    errorMessage: group.raw_message ?? group.cleaned_message,
  };
  if (!newest) return { ...base, ...nothing };
  const passed = await passesOf(repositories, table, newest);
  const runs = await analysisEvidence.runs(
    table,
    failing.map(({ id }) => id),
  );
  const [run] = runs;
  if (!run) return { ...base, ...nothing };
  const first = await analysisEvidence.firstFailure(
    table,
    checkId,
    newest.run_location,
    passed.marks[0]?.created ?? newest.created - lookBackMs,
  );
  const startedMs = Date.parse(run.startedAt);
  const isPresent = now - newest.created <= presentMs;
  return {
    ...base,
    failing: runs,
    passed: passed.runs,
    failingSince: first ? iso(first.started) : null,
    elsewhere: isOfTests ? [] : await elsewhereOf(repositories, newest, first ?? newest),
    company: isPresent ? await companyOf(repositories, group, { checkId, run }) : null,
    locationEvents: await analysisEvidence.locationEvents(group.account_id, run.location, {
      from: startedMs - eventSlackMs,
      to: newest.created + eventSlackMs,
    }),
    changes:
      check && passed.marks[0]
        ? await changesOf(repositories, check, {
            from: passed.marks[0].started,
            to: first?.started ?? startedMs,
          })
        : [],
    maintenance: check ? await maintenanceOf(repositories, check, startedMs) : [],
  };
}

const nothing = {
  ...{ failing: [], passed: [], failingSince: null, elsewhere: [], company: null },
  ...{ locationEvents: [], changes: [], maintenance: [] },
} satisfies Omit<Evidence, 'check' | 'errorMessage'>;

/** Passes before a failure, at its location if any, else anywhere; and passes with details, for comparison. */
async function passesOf(
  { analysisEvidence }: Pick<Repositories, 'analysisEvidence'>,
  table: ResultTable,
  newest: ResultMark,
): Promise<{ marks: readonly ResultMark[]; runs: readonly StoredRun[] }> {
  const between = { after: newest.created - lookBackMs, before: newest.created };
  for (const from of table === 'results' ? [table] : [table, 'results' as const]) {
    const [marks, whole] = await Promise.all(
      [false, true].map(async (areWhole) => {
        const asked = { limit: 4 * maxPassed, areWhole };
        const found = await analysisEvidence.passes(from, newest.check_id, between, asked);
        const here = found.filter(({ run_location: location }) => location === newest.run_location);
        return (here.length > 0 ? here : found).slice(0, maxPassed);
      }),
    );
    if (!marks?.[0] || !whole) continue;
    const runs = await analysisEvidence.runs(
      from,
      whole.map(({ id }) => id),
    );
    return { marks, runs };
  }
  return { marks: [], runs: [] };
}

/** Results of the other locations since the check fails at this one, in the same slot or later. */
async function elsewhereOf(
  { analysisEvidence }: Pick<Repositories, 'analysisEvidence'>,
  { check_id: checkId, run_location: here }: ResultMark,
  first: ResultMark,
): Promise<Evidence['elsewhere']> {
  const later = await analysisEvidence.since(checkId, first.created - 60_000, 200);
  const byLocation = Map.groupBy(
    later.filter(
      ({ run_location: location, slot_at: slotAt }) => location !== here && slotAt >= first.slot_at,
    ),
    ({ run_location: location }) => location,
  );
  return [...byLocation].map(([location, [newest]]) => ({
    location,
    passes: newest?.has_failures === 0 && newest.has_errors === 0,
  }));
}

async function companyOf(
  { analysisEvidence }: Pick<Repositories, 'analysisEvidence'>,
  { account_id: accountId, last_seen: lastSeen }: Group,
  { checkId, run }: { readonly checkId: string; readonly run: StoredRun },
): Promise<Company[]> {
  const { host, address } = viewOf(run);
  const shared = [
    { kind: 'host' as const, value: host },
    { kind: 'address' as const, value: address === host ? null : address },
    { kind: 'location' as const, value: run.location },
  ];
  const found: Company[] = [];
  for (const { kind, value } of shared) {
    if (value === null) continue;
    const company = await analysisEvidence.company(
      { accountId, checkId },
      { kind, value },
      lastSeen - presentMs,
    );
    found.push(company);
  }
  return found;
}

/** Changes of the check, its group, and the variables and snippets that it uses. */
async function changesOf(
  { audit }: Pick<Repositories, 'audit'>,
  check: Check,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<ChangeFacts[]> {
  const rows = await audit.list(
    { accountId: check.accountId, from, to: to + 1, outcome: 'DONE', isForAll: true },
    200,
  );
  const definition = JSON.stringify(check.definition);
  const isOfCheck = (resource: string) => {
    const [kind = '', id = ''] = resource.split('/');
    if (kind === 'checks') return id === check.id;
    if (kind === 'check-groups') return check.groupId !== null && id === String(check.groupId);
    if (kind === 'variables') return id !== '' && definition.includes(id);
    return kind === 'snippets' && new RegExp(`SnippetId":${Number(id)}\\b`).test(definition);
  };
  return rows.flatMap(({ resource, created, changes }) => {
    if (resource === null || !isOfCheck(resource)) return [];
    const { before, after, secrets } = storedChanges(changes);
    const fields = new Set([...Object.keys(fieldsOf(before)), ...Object.keys(fieldsOf(after))]);
    if (Array.isArray(secrets)) for (const one of secrets) fields.add(String(one));
    return [{ resource, at: iso(created), fields: [...fields].slice(0, 20) }];
  });
}

async function maintenanceOf(repositories: Repositories, check: Check, at: number): Promise<string[]> {
  const maintenance = await Maintenance.load(repositories, [check.accountId], { from: at, to: at });
  const tags = check.definition['tags'];
  const own = Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [];
  return maintenance.namesInEffect(check.accountId, own, at);
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
