import type { AccountTables } from './accounts/tables.ts';
import type { CauseTables } from './alerts/causes/tables.ts';
import type { ReceiverTables } from './alerts/receivers/tables.ts';
import type { AlertTables } from './alerts/tables.ts';
import type { AnalysisTables } from './analyses/tables.ts';
import type { AuditTables } from './audit/tables.ts';
import type { CheckMetricsTables } from './check-metrics/tables.ts';
import type { CheckGroupTables } from './checks/groups/tables.ts';
import type { CheckPlanTables } from './checks/plans/tables.ts';
import type { CheckTables } from './checks/tables.ts';
import type { LoginTables } from './console/login/tables.ts';
import type { CoverageTables } from './coverage/tables.ts';
import type { CustomDomainTables } from './custom-domains/tables.ts';
import type { HeartbeatTables } from './heartbeats/tables.ts';
import type { StoredAnswerTables } from './http/idempotency/tables.ts';
import type { SharedLimitTables } from './http/shared-limits/tables.ts';
import type { IncidentTables } from './incidents/tables.ts';
import type { LocationTables } from './locations/tables.ts';
import type { MailTables } from './mail/tables.ts';
import type { MaintenanceTables } from './maintenance/tables.ts';
import type { MemberTables } from './members/tables.ts';
import type { PageTables } from './pages/tables.ts';
import type { ProjectTables } from './projects/tables.ts';
import type { ResultTables } from './results/tables.ts';
import type { RunTables } from './runs/tables.ts';
import type { SessionTables } from './sessions/stored/tables.ts';
import type { SloTables } from './slos/tables.ts';

/**
 * The tables of the database, each declared in the `tables.ts` of its noun. Rows are as both engines return
 * them: times are epoch milliseconds, booleans are 0 or 1, JSON is text, parsed in one place (the repository
 * of the noun). The rows of plain resources are known to their own repositories only.
 */
export interface Tables
  extends AccountTables,
    AlertTables,
    AnalysisTables,
    AuditTables,
    CauseTables,
    CheckTables,
    CheckGroupTables,
    CheckMetricsTables,
    CheckPlanTables,
    CoverageTables,
    CustomDomainTables,
    HeartbeatTables,
    IncidentTables,
    LocationTables,
    LoginTables,
    MailTables,
    MaintenanceTables,
    MemberTables,
    PageTables,
    ProjectTables,
    ReceiverTables,
    ResultTables,
    RunTables,
    SessionTables,
    SharedLimitTables,
    SloTables,
    StoredAnswerTables {}
