import { analysisSuite } from './analyses.ts';
import { analyticsSuite } from './analytics.ts';
import { apiSuite } from './api.ts';
import { auditSuite } from './audit.ts';
import { availabilitySuite } from './availability.ts';
import { changeSuite } from './changes.ts';
import { checkMetricsSuite } from './check-metrics.ts';
import { checkPlanSuite } from './check-plans.ts';
import { checkStateSuite } from './check-states.ts';
import { clockSuite } from './clocks.ts';
import { consoleRecordSuite } from './console-records.ts';
import { coverageSuite } from './coverage.ts';
import { coverageViewSuite } from './coverage-views.ts';
import { definitionRunSuite } from './definition-runs.ts';
import { deployedFieldSuite } from './deployed-fields.ts';
import { deployedKindSuite } from './deployed-kinds.ts';
import { deployedRefusalSuite } from './deployed-refusals.ts';
import { deploymentSuite } from './deployments.ts';
import { errorGroupSuite } from './error-groups.ts';
import { factSuite } from './facts.ts';
import { groupSuite } from './groups.ts';
import { heartbeatSuite } from './heartbeats.ts';
import { incidentSuite } from './incidents.ts';
import { keptDetailSuite } from './kept-details.ts';
import { leaseSuite } from './leases.ts';
import { longTransactionSuite } from './long-transactions.ts';
import { maintenanceSuite } from './maintenance.ts';
import { occurrenceSuite } from './maintenance-occurrences.ts';
import { memberSuite } from './members.ts';
import { pageComponentSuite } from './page-components.ts';
import { pageRecordSuite } from './page-records.ts';
import { pageSuite } from './pages.ts';
import { reportSuite } from './reports.ts';
import { resourceSuite } from './resources.ts';
import { retentionSuite } from './retention.ts';
import { sessionSuite } from './sessions.ts';
import { sessionWaitingSuite } from './sessions-waiting.ts';
import { slotRecordSuite } from './slot-records.ts';
import { slotSuite } from './slots.ts';
import type { StoreStage } from './stage.ts';
import { suiteErrorSuite } from './suite-errors.ts';

/** Runs, slots, results and everything counted from them: the parts where the SQL of the engines differs. */
export function runSuites(stage: StoreStage): void {
  leaseSuite(stage);
  longTransactionSuite(stage);
  slotSuite(stage);
  slotRecordSuite(stage);
  coverageSuite(stage);
  coverageViewSuite(stage);
  checkStateSuite(stage);
  clockSuite(stage);
  errorGroupSuite(stage);
  analyticsSuite(stage);
  availabilitySuite(stage);
  reportSuite(stage);
  keptDetailSuite(stage);
  retentionSuite(stage);
  checkMetricsSuite(stage);
}

/** Definitions in accounts, and their effects. */
export function definitionSuites(stage: StoreStage): void {
  consoleRecordSuite(stage);
  apiSuite(stage);
  auditSuite(stage);
  memberSuite(stage);
  changeSuite(stage);
  factSuite(stage);
  pageSuite(stage);
  pageRecordSuite(stage);
  pageComponentSuite(stage);
  resourceSuite(stage);
  groupSuite(stage);
  maintenanceSuite(stage);
  occurrenceSuite(stage);
  incidentSuite(stage);
  heartbeatSuite(stage);
  analysisSuite(stage);
  checkPlanSuite(stage);
  sessionSuite(stage);
  sessionWaitingSuite(stage);
  definitionRunSuite(stage);
  suiteErrorSuite(stage);
  deploymentSuite(stage);
  deployedFieldSuite(stage);
  deployedKindSuite(stage);
  deployedRefusalSuite(stage);
}
