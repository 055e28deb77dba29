import { analyticsSuite } from './analytics.ts';
import { apiSuite } from './api.ts';
import { availabilitySuite } from './availability.ts';
import { changeSuite } from './changes.ts';
import { clockSuite } from './clocks.ts';
import { errorGroupSuite } from './error-groups.ts';
import { factSuite } from './facts.ts';
import { groupSuite } from './groups.ts';
import { heartbeatSuite } from './heartbeats.ts';
import { incidentSuite } from './incidents.ts';
import { leaseSuite } from './leases.ts';
import { maintenanceSuite } from './maintenance.ts';
import { occurrenceSuite } from './maintenance-occurrences.ts';
import { pageSuite } from './pages.ts';
import { reportSuite } from './reports.ts';
import { resourceSuite } from './resources.ts';
import { retentionSuite } from './retention.ts';
import { sessionSuite } from './sessions.ts';
import { slotRecordSuite } from './slot-records.ts';
import { slotSuite } from './slots.ts';
import type { StoreStage } from './stage.ts';
import { suiteErrorSuite } from './suite-errors.ts';

/** Everything that a store has to do, whatever engine it is on. */
export function storeSuites(stage: StoreStage): void {
  leaseSuite(stage);
  slotSuite(stage);
  slotRecordSuite(stage);
  clockSuite(stage);
  apiSuite(stage);
  changeSuite(stage);
  factSuite(stage);
  pageSuite(stage);
  resourceSuite(stage);
  groupSuite(stage);
  maintenanceSuite(stage);
  occurrenceSuite(stage);
  incidentSuite(stage);
  heartbeatSuite(stage);
  errorGroupSuite(stage);
  sessionSuite(stage);
  suiteErrorSuite(stage);
  analyticsSuite(stage);
  availabilitySuite(stage);
  reportSuite(stage);
  retentionSuite(stage);
}
