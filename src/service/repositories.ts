import type { Kysely } from 'kysely';
import { Accounts } from './accounts/store.ts';
import { AlertCauses } from './alerts/causes/store.ts';
import { AlertChannels } from './alerts/channels/store.ts';
import { AlertNotifications } from './alerts/delivery/store.ts';
import { MonitoringGaps } from './alerts/gaps/store.ts';
import { AlertActions, AlertLinkKeys, Silences } from './alerts/handling/store.ts';
import { ReceiverIncidents } from './alerts/receivers/store.ts';
import { Alerts } from './alerts/store.ts';
import { AnalysisEvidence } from './analyses/evidence-store.ts';
import { RootCauseAnalyses } from './analyses/store.ts';
import { AuditLog } from './audit/store.ts';
import { CheckTotals } from './check-metrics/store.ts';
import { CheckGroups } from './checks/groups/store.ts';
import { CheckPlans } from './checks/plans/store.ts';
import { CheckStates } from './checks/state/states.ts';
import { Checks } from './checks/store.ts';
import { LoginSessions } from './console/login/store.ts';
import { Overviews } from './console/overview/store.ts';
import { SlotDays } from './coverage/slot-days.ts';
import { ServiceNames } from './custom-domains/name-store.ts';
import { CustomDomains } from './custom-domains/store.ts';
import { Heartbeats } from './heartbeats/store.ts';
import { StoredAnswers } from './http/idempotency/store.ts';
import { SpentLimits } from './http/shared-limits/store.ts';
import { IncidentEvents } from './incidents/event-store.ts';
import { RuleFailures } from './incidents/rules/failure-store.ts';
import { AutomationRules } from './incidents/rules/store.ts';
import { Incidents } from './incidents/store.ts';
import { Retired } from './jobs/retention-store.ts';
import { AgentErrors } from './locations/agents/error-store.ts';
import { LocationEvents } from './locations/event-store.ts';
import { LocationMinutes } from './locations/minute-store.ts';
import { Locations } from './locations/store.ts';
import { SubscriberMails } from './mail/store.ts';
import { Maintenances } from './maintenance/store.ts';
import { Members } from './members/store.ts';
import { StatusPageComponents } from './pages/components/store.ts';
import { DashboardIncidents } from './pages/dashboards/incident-store.ts';
import { Dashboards } from './pages/dashboards/store.ts';
import { Services } from './pages/service-store.ts';
import { StatusPages } from './pages/store.ts';
import { Subscriptions } from './pages/subscription-store.ts';
import { Deployments } from './projects/deployment-store.ts';
import { Projects } from './projects/store.ts';
import { resourceRepositories } from './resources/index.ts';
import { Artifacts } from './results/artifacts/store.ts';
import { CodeBundles } from './results/bundles/store.ts';
import { FedResults } from './results/clickhouse/feed-store.ts';
import { ResultColumns } from './results/columns/result-columns.ts';
import { DetailCounts } from './results/details/detail-counts.ts';
import { ErrorGroups } from './results/error-groups/store.ts';
import { Reports } from './results/report-store.ts';
import { Statuses } from './results/status-store.ts';
import { Results } from './results/store.ts';
import { Leases } from './runs/lease-store.ts';
import { Slots } from './runs/slot-store.ts';
import { Runs } from './runs/store.ts';
import { CheckSessions } from './sessions/stored/check-session-store.ts';
import { TestDefinitions } from './sessions/stored/definition-store.ts';
import { TestSessions } from './sessions/stored/test-session-store.ts';
import { Triggers } from './sessions/triggers/store.ts';
import { SloBurns } from './slos/burn-store.ts';
import { ResultDays } from './store/days/result-days.ts';
import { RunDays } from './store/days/run-days.ts';
import type { Dialect } from './store/engine/dialect.ts';
import type { Tables } from './tables.ts';

/** What reads and writes the tables of each noun, on one connection or within one transaction. */
export function repositoriesOf(db: Kysely<Tables>, dialect: Dialect) {
  return {
    ...resourceRepositories(db, dialect),
    accounts: new Accounts(db, dialect),
    audit: new AuditLog(db),
    logins: new LoginSessions(db),
    members: new Members(db),
    agentErrors: new AgentErrors(db),
    checks: new Checks(db, dialect),
    checkTotals: new CheckTotals(db, dialect),
    states: new CheckStates(db, dialect),
    overviews: new Overviews(db, dialect),
    groups: new CheckGroups(db, dialect),
    maintenances: new Maintenances(db),
    locations: new Locations(db, dialect),
    locationEvents: new LocationEvents(db),
    codeBundles: new CodeBundles(db, dialect),
    runs: new Runs(db, dialect),
    slots: new Slots(db, dialect),
    leases: new Leases(db, dialect),
    results: new Results(db, dialect),
    detailCounts: new DetailCounts(db, dialect),
    resultColumns: new ResultColumns(db, dialect),
    resultDays: new ResultDays(db, dialect),
    runDays: new RunDays(db, dialect),
    fedResults: new FedResults(db, dialect),
    slotDays: new SlotDays(db, dialect),
    locationMinutes: new LocationMinutes(db),
    retired: new Retired(db, dialect),
    statuses: new Statuses(db, dialect),
    artifacts: new Artifacts(db, dialect),
    alertChannels: new AlertChannels(db, dialect),
    alerts: new Alerts(db, dialect),
    alertCauses: new AlertCauses(db, dialect),
    notifications: new AlertNotifications(db, dialect),
    receiverIncidents: new ReceiverIncidents(db, dialect),
    silences: new Silences(db, dialect),
    gaps: new MonitoringGaps(db, dialect),
    sloBurns: new SloBurns(db),
    alertActions: new AlertActions(db),
    alertLinkKeys: new AlertLinkKeys(db),
    incidentEvents: new IncidentEvents(db, dialect),
    dashboards: new Dashboards(db, dialect),
    dashboardIncidents: new DashboardIncidents(db, dialect),
    statusPages: new StatusPages(db, dialect),
    customDomains: new CustomDomains(db, dialect),
    serviceNames: new ServiceNames(db),
    components: new StatusPageComponents(db, dialect),
    automationRules: new AutomationRules(db, dialect),
    ruleFailures: new RuleFailures(db, dialect),
    services: new Services(db, dialect),
    incidents: new Incidents(db, dialect),
    subscriptions: new Subscriptions(db, dialect),
    subscriberMails: new SubscriberMails(db, dialect),
    projects: new Projects(db),
    deployments: new Deployments(db, dialect),
    reports: new Reports(db, dialect),
    heartbeats: new Heartbeats(db, dialect),
    errorGroups: new ErrorGroups(db, dialect),
    analyses: new RootCauseAnalyses(db, dialect),
    plans: new CheckPlans(db, dialect),
    analysisEvidence: new AnalysisEvidence(db, dialect),
    checkSessions: new CheckSessions(db, dialect),
    testSessions: new TestSessions(db, dialect),
    testDefinitions: new TestDefinitions(db, dialect),
    triggers: new Triggers(db),
    storedAnswers: new StoredAnswers(db),
    spentLimits: new SpentLimits(db),
  };
}

export type Repositories = Readonly<ReturnType<typeof repositoriesOf>>;
