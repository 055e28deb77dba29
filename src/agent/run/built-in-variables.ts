import type { LeasedRun } from '../../protocol/agent/agent.ts';

/**
 * Variables every run has without anybody defining them (check model 5.5; spec.md "Versioning": `SERVICE` is set for
 * service-triggered runs, `CI` in runs of test sessions only). A check's own variables of the same name win.
 */
export function builtInVariables(run: LeasedRun): Record<string, string> {
  return {
    SERVICE: '1',
    ACCOUNT_ID: run.accountId,
    CHECK_ID: run.check.id,
    CHECK_NAME: run.check.name,
    CHECK_TYPE: run.check.checkType,
    CHECK_RUN_ID: String(run.checkRunId),
    CHECK_RESULT_ID: run.resultId,
    REGION: run.location.name,
    ...(run.isTestSession ? { CI: 'true' } : {}),
  };
}
