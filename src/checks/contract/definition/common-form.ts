import type { FormLayout } from './form-layout.ts';

/** Fields of checks that judge response times. */
export const limitsForm: FormLayout = {
  shouldFail: {
    label: 'Expect failure',
    hint: 'The check passes when the target fails, and fails when it works.',
    topic: 'limits',
  },
  degradedResponseTime: { label: 'Degraded over', hint: 'Milliseconds; empty: never.', topic: 'limits' },
  maxResponseTime: {
    label: 'Fails over',
    hint: 'Milliseconds; empty: only the timeout applies.',
    topic: 'limits',
  },
};

/** Assertions, as all types show them. */
export const assertionsForm: FormLayout = {
  'request.assertions': { label: 'Assertions', hint: 'All must be true.', topic: 'assertions' },
  'request.assertions.*.source': { label: 'Of' },
  'request.assertions.*.property': { label: 'Property' },
  'request.assertions.*.comparison': {
    label: 'Comparison',
    words: {
      EQUALS: 'equals',
      CONTAINS: 'contains',
      LESS_THAN: 'less than',
      GREATER_THAN: 'greater than',
      MATCHES_SCHEMA: 'matches the JSON schema',
      AGE_LESS_THAN: 'is a date younger than',
      AGE_GREATER_THAN: 'is a date older than',
    },
  },
  'request.assertions.*.target': { label: 'Expected' },
  'request.assertions.*.regex': { label: 'Regular expression' },
};

export const ipFamilyWords = { label: 'Address family' } as const;

/** How forms show alert settings. */
const alertSettingsForm: FormLayout = {
  alertSettings: { label: 'Alert settings of this check', isFolded: true, topic: 'alerts' },
  'alertSettings.escalationType': {
    label: 'When to alert',
    hint: '',
    words: {
      RUN_BASED: 'after consecutive failures',
      TIME_BASED: 'after minutes of failing',
      RATIO_BASED: 'after failures in recent runs',
      COUNT_BASED: 'after failures within a period',
    },
  },
  'alertSettings.runBasedEscalation': { label: 'Consecutive failures' },
  'alertSettings.runBasedEscalation.failedRunThreshold': { label: 'How many' },
  'alertSettings.timeBasedEscalation': { label: 'Minutes of failing' },
  'alertSettings.timeBasedEscalation.minutesFailingThreshold': { label: 'Minutes' },
  'alertSettings.ratioBasedEscalation': { label: 'Failures in recent runs' },
  'alertSettings.ratioBasedEscalation.failedRunThreshold': { label: 'Failures' },
  'alertSettings.ratioBasedEscalation.runs': { label: 'Recent runs' },
  'alertSettings.countBasedEscalation': { label: 'Failures within a period' },
  'alertSettings.countBasedEscalation.failedRunThreshold': { label: 'Failures' },
  'alertSettings.countBasedEscalation.minutes': { label: 'Within minutes' },
  'alertSettings.flapping.enabled': { label: 'Notify of flapping once' },
  'alertSettings.flapping.changes': { label: 'Changes of state' },
  'alertSettings.flapping.minutes': { label: 'Within minutes' },
  'alertSettings.flapping.stableMinutes': { label: 'Ends after stable minutes' },
  'alertSettings.monitoringGap.enabled': { label: 'Notify when the check is not measured' },
  'alertSettings.monitoringGap.slots': { label: 'After missed runs' },
  'alertSettings.monitoringGap.minutes': { label: 'Or after minutes' },
  'alertSettings.reminders.amount': { label: 'How many', words: { '100000': 'until it recovers' } },
  'alertSettings.reminders.interval': { label: 'Minutes between reminders' },
  'alertSettings.parallelRunFailureThreshold': { label: 'Parallel runs' },
  'alertSettings.parallelRunFailureThreshold.enabled': { label: 'Alert only when several locations fail' },
  'alertSettings.parallelRunFailureThreshold.percentage': { label: 'Percentage of locations' },
};

const retryForm: FormLayout = {
  retryStrategy: {
    label: 'Retries',
    words: { '': 'no strategy', object: 'with a strategy', FALLBACK: 'each check has its own' },
    topic: 'schedule',
  },
  'retryStrategy.type': {
    label: 'Wait between attempts',
    words: {
      FIXED: 'fixed',
      LINEAR: 'linear',
      EXPONENTIAL: 'exponential',
      SINGLE_RETRY: 'a single retry',
    },
  },
  'retryStrategy.baseBackoffSeconds': { label: 'Wait, in seconds' },
  'retryStrategy.sameRegion': { label: 'At the same location' },
  'retryStrategy.maxRetries': { label: 'Maximum retries', hint: 'Empty: 2.' },
  'retryStrategy.maxDurationSeconds': { label: 'Maximum duration in seconds', hint: 'Empty: 600.' },
  'retryStrategy.onlyOn': {
    label: 'Retry',
    words: { '': 'after every failure', NETWORK_ERROR: 'after network errors only' },
  },
};

const scheduleForm: FormLayout = {
  schedule: {
    label: 'Runs',
    hint: 'At an interval, or at times of cron or of a systemd timer.',
    words: { '': 'at its interval', object: 'on a schedule' },
    topic: 'schedule',
  },
  'schedule.cron': {
    label: 'Cron expression',
    hint: 'Such as 0 3 * * * or @daily.',
  },
  'schedule.onCalendar': {
    label: 'OnCalendar',
    hint: 'In place of cron: of a timer of systemd, such as Mon..Fri 03:00.',
  },
  'schedule.timeZone': { label: 'Time zone', hint: 'Such as Europe/Berlin; empty: UTC.' },
};

const hoursForm: FormLayout = {
  activeHours: {
    label: 'Hours',
    hint: 'Outside them no run is due, and none is missing.',
    words: { '': 'at all times', object: 'in certain hours' },
    topic: 'schedule',
  },
  'activeHours.timeZone': { label: 'Time zone', hint: 'Such as Europe/Berlin.' },
  'activeHours.mode': {
    label: 'The check',
    words: { RUN: 'runs in these hours', PAUSE: 'runs except in these hours' },
  },
  'activeHours.windows': { label: 'Hours of the week', hint: 'None: all hours, except on holidays.' },
  'activeHours.windows.*.weekdays': {
    label: 'Days',
    words: { MON: 'Mon', TUE: 'Tue', WED: 'Wed', THU: 'Thu', FRI: 'Fri', SAT: 'Sat', SUN: 'Sun' },
  },
  'activeHours.windows.*.from': { label: 'From', hint: 'Such as 08:00.' },
  'activeHours.windows.*.to': { label: 'To', hint: 'Not after "From": on the next day.' },
  'activeHours.holidays': {
    label: 'Holidays',
    hint: 'A day in each line, such as 2026-12-25 or 2026-12-24/2027-01-01; or paste an iCalendar file.',
    lines: 4,
  },
};

/** How forms show the fields that every check has; those of the first level are in its order. */
export const commonForm: FormLayout = {
  name: { label: 'Name', hint: '', isFirst: true, width: 'wide' },
  frequency: {
    label: 'Interval',
    hint: '',
    isFirst: true,
    width: 'narrow',
    topic: 'schedule',
    unusedWith: 'schedule',
  },
  privateLocations: { label: 'Locations', hint: '', isFirst: true, width: 'half', topic: 'schedule' },
  locations: {
    label: 'Regions',
    hint: 'From a similar service. Your agents do not serve them.',
    isFirst: true,
    isOnlyIfSet: true,
    topic: 'schedule',
  },
  alertChannelSubscriptions: { label: 'Alert channels', isFirst: true, width: 'half' },
  description: { label: 'Description', lines: 2 },
  activated: { label: 'Enabled' },
  tags: { label: 'Tags', topic: 'grouping', picker: 'tags' },
  groupId: { label: 'Group', hint: 'The settings of the group apply to the check.', topic: 'grouping' },
  groupOrder: {
    label: 'Order in the group',
    hint: 'A number; smaller numbers come first.',
    topic: 'grouping',
  },
  parentCheckIds: {
    label: 'Depends on',
    hint: 'While one of these checks fails, both share an alert.',
    topic: 'grouping',
    picker: 'checks',
  },
  runParallel: {
    label: 'Run in parallel: at all locations at once',
    hint: 'If off, it runs at one location after another.',
    topic: 'schedule',
  },
  frequencyOffset: { isHidden: true },
  ...scheduleForm,
  frequencyWhileFailing: { label: 'Interval while failing', hint: '', topic: 'schedule' },
  ...hoursForm,
  concurrency: { topic: 'schedule' },
  ...retryForm,
  doubleCheck: {
    label: 'Retry once from another location',
    hint: 'If no retry strategy is set.',
    topic: 'schedule',
  },
  muted: { label: 'Muted: send no notifications', hint: '', topic: 'alerts' },
  useGlobalAlertSettings: { label: 'Use the alert settings of the account', hint: '', topic: 'alerts' },
  ...alertSettingsForm,
  triggerIncident: {
    label: 'On failure',
    words: { '': 'do not open an incident', object: 'open an incident' },
    topic: 'alerts',
  },
  'triggerIncident.serviceId': { label: 'Service' },
  'triggerIncident.name': { label: 'Incident name' },
  'triggerIncident.description': { label: 'Incident text', lines: 3 },
  'triggerIncident.notifySubscribers': { label: 'Notify subscribers' },
  environmentVariables: {
    label: 'Variables',
    hint: 'For {{TEMPLATES}} and scripts. Locked and secret values are never shown again.',
    topic: 'scripts',
  },
  'environmentVariables.*.key': { label: 'Name' },
  runtimeId: {
    label: 'Runtime',
    hint: 'Node.js version and packages for scripts.',
    words: { '': 'the newest' },
    topic: 'scripts',
  },
  setupSnippetId: { label: 'Setup snippet', topic: 'scripts' },
  localSetupScript: { label: 'Setup script', lines: 8, isCode: true, topic: 'scripts' },
  tearDownSnippetId: { label: 'Teardown snippet', topic: 'scripts' },
  localTearDownScript: { label: 'Teardown script', lines: 8, isCode: true, topic: 'scripts' },
  sslCheckDomain: {
    label: 'Host of the certificate',
    hint: 'Empty: the host of the request.',
  },
  scriptPath: { isHidden: true },
  // Files belong to projects: the API changes them, forms leave them unchanged.
  setupScriptPath: { isHidden: true },
  setupScriptDependencies: { isHidden: true },
  tearDownScriptPath: { isHidden: true },
  tearDownScriptDependencies: { isHidden: true },
  signature: { isHidden: true },
};
