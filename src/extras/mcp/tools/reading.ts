import { checkTypes } from '@picket/checks/index.ts';
import { typedAnalyticsRoute } from '@picket/protocol/results/analytics.ts';
import type { ToolSpec } from './spec.ts';

const resultNames = { checkResultId: 'resultId' };
const sessionResultNames = { id: 'testSessionId' };
const ofCheck = { id: 'checkId' };

/** Tools that change nothing, in the order in which a model sees them. */
export const readingTools: readonly ToolSpec[] = [
  {
    name: 'list_checks',
    title: 'List checks',
    description:
      'Checks (monitors) of the account with their settings, newest first. Filter by tag, type, state or a word of the name; use it to find the id of a check.',
    operations: ['listChecks'],
  },
  {
    name: 'get_check',
    title: 'Show a check',
    description:
      'All settings of one check: what it requests, how often, from where, its assertions and alerts.',
    operations: ['getCheck'],
    names: ofCheck,
  },
  {
    name: 'list_steps',
    title: 'List versions of the steps of an agentic check',
    description:
      'Steps that runs of an agentic check repeat, newest version first, and whether a model found or healed them, or a person restored an older version.',
    operations: ['listCheckPlans'],
    isForeign: true,
  },
  {
    name: 'list_check_statuses',
    title: 'List check statuses',
    description:
      'The current state of every check: failing, not-judged, not-measured, degraded, pending, passing or paused. A check that is not measured is neither up nor down, whatever hasFailures says. With neverRun=true also checks that have not run yet, with the reason. Begin here to see what is wrong.',
    operations: ['listCheckStatuses'],
  },
  {
    name: 'get_check_status',
    title: 'Show the status of a check',
    description: 'The current state of one check; null if it has not run yet.',
    operations: ['getCheckStatus'],
  },
  {
    name: 'list_check_groups',
    title: 'List check groups',
    description: 'Groups of checks and the settings that apply to their checks.',
    operations: ['listCheckGroups'],
  },
  {
    name: 'list_check_results',
    title: 'List results of a check',
    description:
      'Results of runs of a check, newest first, with details and the reasons of failures. Use hasFailures=true and a small limit to find failures; continue with nextId.',
    operations: ['listCheckResultsByCursor'],
    isForeign: true,
  },
  {
    name: 'get_check_result',
    title: 'Show a result',
    description:
      'One result with all its evidence: phases and times, request and response, assertions, DNS, certificate, trace route, logs, and the names of its artifacts.',
    operations: ['getCheckResult'],
    names: resultNames,
    isForeign: true,
  },
  {
    name: 'read_artifact',
    title: 'Read an artifact',
    description:
      'A file that a run produced, by its name in the result: a screenshot as a picture, logs and other text in parts. Of a check (checkId) or of a test session (testSessionId).',
    operations: ['getAsset', 'getTestSessionAsset'],
    names: { ...resultNames, ...sessionResultNames },
    isFile: true,
    isForeign: true,
  },
  {
    name: 'list_check_slots',
    title: 'List slots of a check',
    description:
      'All slots of a check and their outcomes: measured, missed with the reason, or in progress. Use it when results seem to be missing.',
    operations: ['listCheckSlots'],
    names: ofCheck,
  },
  {
    name: 'count_check_slots',
    title: 'Coverage of a check',
    description: 'The number of due and of measured runs of a check in a time range.',
    operations: ['countCheckSlots'],
    names: ofCheck,
  },
  {
    name: 'get_check_analytics',
    title: 'Analytics of a check',
    description:
      'Metrics of one check over time, such as availability or responseTime_p95; list_analytics_metrics names them.',
    operations: [],
    choice: {
      argument: 'checkType',
      description: 'The type of the check, as in get_check',
      operations: new Map(checkTypes.map((type) => [type.name, typedAnalyticsRoute(type).operationId])),
    },
    names: ofCheck,
  },
  {
    name: 'list_analytics_metrics',
    title: 'List metrics',
    description: 'The names of the metrics that get_check_analytics knows for a type of check.',
    operations: ['listAnalyticsMetrics'],
  },
  {
    name: 'compare_checks',
    title: 'Compare checks',
    description: 'Availability and response times of several checks in one time range.',
    operations: ['getAnalyticsOfChecks'],
    without: ['quickRange'],
  },
  {
    name: 'get_report',
    title: 'Report of all checks',
    description: 'Success ratios and response times of all checks in a time range, for a report.',
    operations: ['getReport'],
  },
  {
    name: 'list_open_alerts',
    title: 'List open alerts',
    description:
      'Checks that are failing, degraded or flapping now, whether a notification was sent, and who acknowledged the alert.',
    operations: ['listOpenAlerts'],
    isForeign: true,
  },
  {
    name: 'list_alerts',
    title: 'List alerts',
    description: 'Alerts, newest first, of all checks or of one.',
    operations: ['listAlertsOfCheck', 'listCheckAlerts'],
    isForeign: true,
  },
  {
    name: 'list_alert_notifications',
    title: 'List notifications',
    description: 'Notifications to alert channels, and whether they arrived.',
    operations: ['listAlertNotifications'],
    isForeign: true,
  },
  {
    name: 'list_alert_causes',
    title: 'List causes of alerts',
    description:
      'Common causes of failing checks (a host, a certificate, a location), with the checks. isOpen=true: current ones only.',
    operations: ['listAlertCauses'],
    isForeign: true,
  },
  {
    name: 'get_alert_cause',
    title: 'Show a cause',
    description: 'One cause of alerts with the checks that fail because of it.',
    operations: ['getAlertCause'],
    names: { id: 'causeId' },
    isForeign: true,
  },
  {
    name: 'list_monitoring_gaps',
    title: 'List monitoring gaps',
    description:
      'Checks that are not measured at a location right now, with the reason: the state of their targets is unknown.',
    operations: ['listMonitoringGaps'],
  },
  {
    name: 'list_silences',
    title: 'List silences',
    description: 'Silences: the notifications they suppress, and when they end.',
    operations: ['listSilences'],
  },
  {
    name: 'list_error_groups',
    title: 'List error groups',
    description:
      'Groups of similar failures: the error, its number and its first time. Of all checks or of one.',
    operations: ['listErrorGroupsOfCheck', 'listErrorGroups'],
    isForeign: true,
  },
  {
    name: 'get_error_group',
    title: 'Show an error group',
    description: 'One error group with its message and the times it occurred.',
    operations: ['getErrorGroup'],
    names: { id: 'errorGroupId' },
    isForeign: true,
  },
  {
    name: 'get_root_cause',
    title: 'Show a root cause analysis',
    description:
      'The analysed cause of an error group: its certainty, the evidence and the next step. get_error_group lists the ids; status PENDING: call again.',
    operations: ['getRootCauseAnalysis'],
    names: { id: 'analysisId' },
    isForeign: true,
  },
  {
    name: 'get_check_session',
    title: 'Show a check session',
    description: 'The progress of checks that were run on demand (run_checks), and the ids of their results.',
    operations: ['getCheckSession'],
    names: { id: 'checkSessionId' },
  },
  {
    name: 'wait_for_check_session',
    title: 'Wait for a check session',
    description:
      'Waits until a check session has ended and shows it; call it again if the session is still in progress.',
    operations: ['awaitCheckSession'],
    names: { id: 'checkSessionId' },
  },
  {
    name: 'list_test_sessions',
    title: 'List test sessions',
    description: 'Test sessions (runs of tests from a project or a pipeline), newest first.',
    operations: ['listTestSessions'],
    isForeign: true,
  },
  {
    name: 'get_test_session',
    title: 'Show a test session',
    description: 'One test session and its results.',
    operations: ['getTestSession'],
    names: sessionResultNames,
    isForeign: true,
  },
  {
    name: 'get_test_session_result',
    title: 'Show a result of a test session',
    description: 'One result of a test session with all its evidence and the names of its artifacts.',
    operations: ['getTestSessionResult'],
    names: sessionResultNames,
    isForeign: true,
  },
  {
    name: 'list_incidents',
    title: 'List incidents',
    description: 'Incidents of status pages with their updates, newest first.',
    operations: ['listIncidents'],
  },
  {
    name: 'get_incident',
    title: 'Show an incident',
    description: 'One incident of status pages with its updates.',
    operations: ['getIncident'],
  },
  {
    name: 'list_status_pages',
    title: 'List status pages',
    description: 'Status pages of the account with their cards and services.',
    operations: ['listStatusPages'],
  },
  {
    name: 'list_status_page_services',
    title: 'List services',
    description: 'Services that status pages show; incidents name them by their ids.',
    operations: ['listServices'],
    without: ['paginated'],
  },
  {
    name: 'list_maintenance_windows',
    title: 'List maintenance windows',
    description: 'Planned periods in which checks are paused or alerts are silenced.',
    operations: ['listMaintenanceWindows'],
  },
  {
    name: 'list_private_locations',
    title: 'List private locations',
    description: 'Private locations, their agents and when the agents were last seen.',
    operations: ['listPrivateLocations'],
  },
  {
    name: 'list_location_events',
    title: 'List events of a location',
    description: 'Problems of host and network that agents of a private location reported.',
    operations: ['listLocationEvents'],
    names: { id: 'locationId' },
    isForeign: true,
  },
  {
    name: 'get_location_coverage',
    title: 'Coverage of a location',
    description: 'Daily coverage of a private location: share of due slots that were measured.',
    operations: ['getLocationCoverage'],
    names: { id: 'locationId' },
  },
  {
    name: 'list_heartbeat_events',
    title: 'List heartbeat events',
    description: 'Received and missed pings of a heartbeat monitor, newest first.',
    operations: ['listHeartbeatEvents'],
    isForeign: true,
  },
  {
    name: 'list_slos',
    title: 'List objectives',
    description: 'Service level objectives of the account.',
    operations: ['listSlos'],
  },
  {
    name: 'get_slo_status',
    title: 'Status of an objective',
    description: 'The remaining error budget of an objective and its burn rate.',
    operations: ['getSloStatus'],
    names: { id: 'sloId' },
  },
  {
    name: 'list_audit_log',
    title: 'List changes',
    description:
      'Changes with their author and time, newest first. Use it to find changes before a failure began.',
    operations: ['listAuditLog'],
  },
  {
    name: 'get_account',
    title: 'Show the account',
    description: 'The account that the API key belongs to.',
    operations: ['getOwnAccount'],
  },
];
