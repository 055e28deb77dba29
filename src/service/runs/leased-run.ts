import type { RetryStrategy } from '@picket/checks/contract/definition/common-fields.ts';
import { findCheckType } from '@picket/checks/index.ts';
import type { LocationCaller } from '@picket/platform/ids/callers.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import type { LeasedRun } from '@picket/protocol/agent/agent.ts';
import { type AccountResources, composedRun } from '../checks/composed-run.ts';
import { groupOf, groupsOf, runtimeOf } from '../checks/effective-check.ts';
import type { CheckGroup } from '../checks/groups/store.ts';
import type { CheckPlanRow } from '../checks/plans/tables.ts';
import type { DefinedCheck } from '../checks/stored-definition.ts';
import { resultIdOf } from './lease-store.ts';
import { mayBeRetried } from './retries.ts';
import { sessionVariables } from './session-variables.ts';
import type { RunRow } from './tables.ts';

const planContent = storedValue<object>('check_plans.content', {});

/** Everything an agent needs to run its leases: checks with the settings of their groups, and what they refer to. */
export async function leasedRuns(
  repositories: Repositories,
  location: LocationCaller,
  runs: readonly RunRow[],
): Promise<LeasedRun[]> {
  if (runs.length === 0) return [];
  const checks = await repositories.checks.findDefinitions(runs.map((run) => run.check_id));
  const groups = await groupsOf(repositories, [...checks.values()]);
  const tried = await repositories.testDefinitions.findMany(
    runs.flatMap((run) => (run.test_session_id === null ? [] : [run.check_id])),
  );
  const sessions = await repositories.testSessions.findMany(runs.map((run) => run.test_session_id));
  const all: DefinedCheck[] = [...checks.values(), ...[...tried.values()].map(({ check }) => check)];
  const planned = [...checks.values()].filter(({ checkType }) => findCheckType(checkType)?.planOf);
  const plans = await repositories.plans.latest(planned.map(({ id }) => id));
  const resources = await resourcesFor(repositories, location.account_id, all);
  // The poll may have waited since its caller was looked up.
  const { slug_name: name, proxy_url: proxyUrl } =
    (await repositories.locations.find(location.account_id, location.id)) ?? location;
  return runs.flatMap((run) => {
    // If a check was deleted in between, its runs are cancelled, and the agent never receives them.
    const definition = tried.get(run.check_id);
    const check = checks.get(run.check_id) ?? definition?.check;
    if (!check) return [];
    const group = definition ? definition.group : groupOf(check, groups);
    const plan = plans.get(run.check_id);
    const leased = leasedRun({ name, proxyUrl }, run, check, group, resources, plan);
    return [withSession(leased, sessions.get(run.test_session_id ?? ''))];
  });
}

async function resourcesFor(
  repositories: Pick<Repositories, 'certificates' | 'snippets' | 'variables'>,
  accountId: string,
  checks: readonly DefinedCheck[],
): Promise<AccountResources> {
  const types = [...new Set(checks.map(({ checkType }) => findCheckType(checkType)))];
  const needsSnippets = types.some((type) => type?.usesSnippets || type?.usesLifecycleScripts);
  const needsCertificates = types.some((type) => type?.usesClientCertificates);
  return {
    variables: await repositories.variables.ofAccounts([accountId]),
    // Oldest first.
    snippets: needsSnippets ? (await repositories.snippets.ofAccounts([accountId])).toReversed() : [],
    certificates: needsCertificates ? await repositories.certificates.ofAccounts([accountId]) : [],
  };
}

function leasedRun(
  location: LeasedRun['location'],
  run: RunRow,
  check: DefinedCheck,
  group: CheckGroup | undefined,
  resources: AccountResources,
  plan: CheckPlanRow | undefined,
): LeasedRun {
  const composed = composedRun(check, group, resources);
  const { definition } = composed.effective;
  return {
    runId: run.id,
    leaseNumber: run.lease_number,
    resultId: resultIdOf(run.id, run.lease_number),
    slotAt: run.slot_at,
    mayReportLater: run.check_session_id === null && run.test_session_id === null && run.attempt === 0,
    attempt: run.attempt,
    mayBeRetried: mayBeRetried({
      attempt: run.attempt,
      retryStrategy: definition.retryStrategy as RetryStrategy | null,
      doubleCheck: definition.doubleCheck === true,
    }),
    sequenceId: run.sequence_id,
    checkRunId: run.check_run_id,
    accountId: run.account_id,
    location,
    check: { id: check.id, name: check.name, ...composed.check },
    variables: composed.variables,
    secretNames: composed.secretNames,
    valuesFrom: composed.valuesFrom,
    runtimeId: runtimeOf(composed.effective),
    lifecycle: composed.lifecycle,
    snippets: composed.snippets,
    clientCertificates: composed.clientCertificates,
    updatesSnapshots: definition.updatesSnapshots === true,
    plan: plan ? { version: plan.version, content: planContent(plan.content) } : null,
    isTestSession: false,
    signature: typeof definition.signature === 'string' ? definition.signature : null,
  };
}

/** Adds the variables of a test session to its run; they override those of the check. */
function withSession(
  run: LeasedRun,
  session: { readonly environment_variables: string } | undefined,
): LeasedRun {
  if (!session) return run;
  const variables = sessionVariables(session.environment_variables);
  const overridden = new Set(variables.map(({ key }) => key));
  return {
    ...run,
    valuesFrom: Object.fromEntries(Object.entries(run.valuesFrom).filter(([name]) => !overridden.has(name))),
    variables: {
      ...run.variables,
      ...Object.fromEntries(variables.map(({ key, value }) => [key, value ?? ''])),
    },
    secretNames: [
      ...new Set([
        ...run.secretNames,
        ...variables.filter(({ secret, locked }) => secret || locked).map(({ key }) => key),
      ]),
    ],
    isTestSession: true,
  };
}
