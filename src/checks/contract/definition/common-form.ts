import type { FormLayout } from './form-layout.ts';

/** What checks that judge by limits of time call those. */
export const limitsForm: FormLayout = {
  shouldFail: {
    label: 'It should fail',
    hint: 'Passes when the target does not answer as it should, and fails when it does.',
  },
  degradedResponseTime: { label: 'Degraded over', hint: 'Milliseconds; empty: never.' },
  maxResponseTime: { label: 'Fails over', hint: 'Milliseconds; empty: no limit but the time-out.' },
};

/** Assertions, as all types have them. */
export const assertionsForm: FormLayout = {
  'request.assertions': { label: 'Assertions', hint: 'All of them must hold.' },
  'request.assertions.*.source': { label: 'Of' },
  'request.assertions.*.property': { label: 'Property' },
  'request.assertions.*.comparison': {
    label: 'Comparison',
    words: { EQUALS: 'equals', CONTAINS: 'contains', LESS_THAN: 'less than', GREATER_THAN: 'greater than' },
  },
  'request.assertions.*.target': { label: 'Expected' },
  'request.assertions.*.regex': { label: 'Regular expression' },
};

export const ipFamilyWords = { label: 'Address family' } as const;

/** How forms show alert settings. */
const alertSettingsForm: FormLayout = {
  alertSettings: { label: 'Its own alert settings', isFolded: true },
  'alertSettings.escalationType': {
    label: 'It alerts',
    hint: '',
    words: {
      RUN_BASED: 'after failures in a row',
      TIME_BASED: 'after minutes of failing',
      RATIO_BASED: 'when several of the last runs failed',
      COUNT_BASED: 'when it failed several times within minutes',
    },
  },
  'alertSettings.runBasedEscalation': { label: 'Failures in a row' },
  'alertSettings.runBasedEscalation.failedRunThreshold': { label: 'How many' },
  'alertSettings.timeBasedEscalation': { label: 'Minutes of failing' },
  'alertSettings.timeBasedEscalation.minutesFailingThreshold': { label: 'How many minutes' },
  'alertSettings.ratioBasedEscalation': { label: 'Several of the last runs' },
  'alertSettings.ratioBasedEscalation.failedRunThreshold': { label: 'How many failures' },
  'alertSettings.ratioBasedEscalation.runs': { label: 'Of how many runs' },
  'alertSettings.countBasedEscalation': { label: 'Several times within minutes' },
  'alertSettings.countBasedEscalation.failedRunThreshold': { label: 'How many failures' },
  'alertSettings.countBasedEscalation.minutes': { label: 'Within how many minutes' },
  'alertSettings.flapping.enabled': { label: 'Notify of flapping once' },
  'alertSettings.flapping.changes': { label: 'Changes of state' },
  'alertSettings.flapping.minutes': { label: 'Within minutes' },
  'alertSettings.flapping.stableMinutes': { label: 'Over after stable minutes' },
  'alertSettings.monitoringGap.enabled': { label: 'Notify when it is not measured' },
  'alertSettings.monitoringGap.slots': { label: 'After how many runs that are missing' },
  'alertSettings.monitoringGap.minutes': { label: 'Or after how many minutes' },
  'alertSettings.reminders.amount': { label: 'How many', words: { '100000': 'until it recovers' } },
  'alertSettings.reminders.interval': { label: 'Minutes between them' },
  'alertSettings.parallelRunFailureThreshold': { label: 'Parallel runs' },
  'alertSettings.parallelRunFailureThreshold.enabled': { label: 'Alert only when enough locations fail' },
  'alertSettings.parallelRunFailureThreshold.percentage': { label: 'Percent of the locations' },
};

const retryForm: FormLayout = {
  retryStrategy: {
    label: 'Retries',
    words: { '': 'no strategy', object: 'with a strategy', FALLBACK: 'as each check says' },
  },
  'retryStrategy.type': {
    label: 'Waits between tries',
    words: {
      FIXED: 'always the same',
      LINEAR: 'longer each time',
      EXPONENTIAL: 'many times longer each time',
      SINGLE_RETRY: 'there is one retry only',
    },
  },
  'retryStrategy.baseBackoffSeconds': { label: 'Wait, in seconds' },
  'retryStrategy.sameRegion': { label: 'At the same location' },
  'retryStrategy.maxRetries': { label: 'Retries at most', hint: 'Empty: 2.' },
  'retryStrategy.maxDurationSeconds': { label: 'For seconds at most', hint: 'Empty: 600.' },
  'retryStrategy.onlyOn': {
    label: 'Retry',
    words: { '': 'after every failure', NETWORK_ERROR: 'only when the target gave no answer' },
  },
};

/** How forms show the fields that every check has. */
export const commonForm: FormLayout = {
  name: { label: 'Name', hint: 'What people call it.' },
  description: { label: 'Description', lines: 2 },
  activated: { label: 'It runs' },
  tags: { label: 'Tags', hint: 'One in a line.', lines: 2 },
  groupId: { label: 'Group', hint: 'What the group sets holds for the check.' },
  privateLocations: { label: 'Locations', hint: 'Where your agents are: it runs at those that are ticked.' },
  locations: { label: 'Regions', hint: 'Names that comparable systems have. No agent of yours serves them.' },
  runParallel: { label: 'At all its locations at once', hint: 'Else at one after the other.' },
  frequency: { label: 'How often', hint: '' },
  frequencyOffset: { isHidden: true },
  ...retryForm,
  doubleCheck: {
    label: 'Without a strategy: try once more at another location before it counts as failed',
    hint: '',
  },
  alertChannelSubscriptions: { label: 'Who is notified' },
  muted: { label: 'Mute: notify nobody', hint: '' },
  useGlobalAlertSettings: { label: 'With the alert settings of its group or the account', hint: '' },
  ...alertSettingsForm,
  parentCheckIds: {
    label: 'Depends on',
    hint: 'Ids of checks, one in a line: while one of them fails, both are one alert.',
  },
  triggerIncident: { label: 'When it fails', words: { '': 'open no incident', object: 'open an incident' } },
  'triggerIncident.serviceId': { label: 'Of the service' },
  'triggerIncident.name': { label: 'Name of the incident' },
  'triggerIncident.description': { label: 'Text of the incident', lines: 3 },
  'triggerIncident.notifySubscribers': { label: 'Tell the subscribers' },
  environmentVariables: {
    label: 'Variables',
    hint: 'For {{TEMPLATES}} and scripts. Values that are locked or secret are never shown again.',
  },
  'environmentVariables.*.key': { label: 'Name' },
  runtimeId: { label: 'Runtime', hint: 'Node.js and packages of its scripts.', words: { '': 'the newest' } },
  setupSnippetId: { label: 'Snippet before it' },
  localSetupScript: { label: 'Script before it', lines: 8, isCode: true },
  tearDownSnippetId: { label: 'Snippet after it' },
  localTearDownScript: { label: 'Script after it', lines: 8, isCode: true },
  sslCheckDomain: {
    label: 'Host whose certificate is watched',
    hint: 'Empty: that of the request.',
  },
  groupOrder: { label: 'Place in its group', hint: 'A number; the smallest comes first.' },
  scriptPath: { isHidden: true },
  // Files belong to projects: the API changes them, and forms leave them as they are.
  setupScriptPath: { isHidden: true },
  setupScriptDependencies: { isHidden: true },
  tearDownScriptPath: { isHidden: true },
  tearDownScriptDependencies: { isHidden: true },
};
