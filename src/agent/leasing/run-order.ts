import type { LeasedRun } from '@picket/protocol/agent/agent.ts';
import type { RunOrder } from '../run/contracts.ts';
import { builtInVariables } from '../run/run-variables.ts';

/** The order of a leased run. */
export function runOrder(
  run: LeasedRun,
  agent: {
    /** Variables of the agent itself. */
    readonly serviceSecrets: Readonly<Record<string, string>>;
    /** Whether a check passed when it ran here last. */
    readonly isPassing: (checkId: string) => boolean;
  },
  receivedAtMs: number,
): RunOrder {
  return {
    runId: run.runId,
    leaseNumber: run.leaseNumber,
    resultId: run.resultId,
    checkType: run.check.checkType,
    checkId: run.check.id,
    spec: run.check.spec,
    input: {
      variables: { ...builtInVariables(run), ...agent.serviceSecrets, ...run.variables },
      secretNames: run.secretNames,
      proxyUrl: run.location.proxyUrl,
      clientCertificates: run.clientCertificates,
      runtimeId: run.runtimeId,
      snippets: run.snippets,
      lifecycle: run.lifecycle,
      updatesSnapshots: run.updatesSnapshots,
      plan: run.plan,
    },
    valuesFrom: run.valuesFrom,
    mayBeRetried: run.mayBeRetried,
    mayReportLater: run.mayReportLater && agent.isPassing(run.check.id),
    receivedAtMs,
  };
}
