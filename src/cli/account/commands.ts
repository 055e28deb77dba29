import type { ApiCommand } from '../api/command.ts';

const comment = ['--comment <text>', 'reason, shown to other users'] as const;

/** Descriptions of commands that only have subcommands. */
export const parents: Readonly<Record<string, string>> = {
  steps: 'show, restore and forget the steps of agentic checks',
  silence: 'list, add and end silences',
  channel: 'list and test alert channels',
  domain: 'list and verify the domains of pages',
};

/** The commands that call a service, one line each; docs/reference/commands.md shows them. */
export const apiCommands: readonly ApiCommand[] = [
  {
    group: 'Checks:',
    usage: 'status',
    description: 'count the checks in each state, and list those that need attention',
    load: async () => (await import('../api/checks.ts')).showStatus,
  },
  {
    group: 'Checks:',
    usage: 'checks',
    description: 'list the checks of the account with their states and ids',
    options: [
      ['--tag <tag...>', 'only checks with any of these tags'],
      ['--search <text>', 'only checks with this text in their names'],
    ],
    load: async () => (await import('../api/checks.ts')).listChecks,
  },
  {
    group: 'Checks:',
    usage: 'logs <check>',
    description: 'list the last runs of a check, newest first, and why they failed',
    options: [
      ['--since <duration>', 'period: 30m, 24h, 7d (default: 24h)'],
      ['--location <slug>', 'at one location only'],
      ['--failures', 'only runs that failed'],
    ],
    load: async () => (await import('../api/checks.ts')).showLogs,
  },
  {
    group: 'Checks:',
    usage: 'trigger <check>',
    description: 'run a check now at its locations, and wait for the results',
    options: [['--detach', 'do not wait']],
    load: async () => (await import('../operate/manage.ts')).triggerCheck,
  },
  {
    group: 'Checks:',
    usage: 'pause <check>',
    description: 'stop the runs of a check',
    load: async () => (await import('../operate/manage.ts')).pauseCheck,
  },
  {
    group: 'Checks:',
    usage: 'resume <check>',
    description: 'run a paused check as scheduled again',
    load: async () => (await import('../operate/manage.ts')).resumeCheck,
  },
  {
    group: 'Checks:',
    usage: 'mute <check>',
    description: 'send no notifications for a check until "picket unmute"; it runs as before',
    load: async () => (await import('../operate/manage.ts')).muteCheck,
  },
  {
    group: 'Checks:',
    usage: 'unmute <check>',
    description: 'send notifications for a muted check again',
    load: async () => (await import('../operate/manage.ts')).unmuteCheck,
  },
  {
    group: 'Checks:',
    usage: 'open [check]',
    description: 'print the address of the page of a check, or of the overview',
    load: async () => (await import('../operate/manage.ts')).openPage,
  },
  {
    group: 'Alerts:',
    usage: 'alerts',
    description:
      'list failing and degraded checks with their causes, checks that are not measured, and burning error budgets',
    load: async () => (await import('../api/alerts.ts')).showAlerts,
  },
  {
    group: 'Alerts:',
    usage: 'causes',
    description: 'list the causes of current failures, each with its checks',
    load: async () => (await import('../api/causes.ts')).showCauses,
  },
  {
    group: 'Alerts:',
    usage: 'why <check>',
    description: 'show the causes of the errors of a check, the evidence, and the next step',
    load: async () => (await import('../api/causes.ts')).showRootCauses,
  },
  {
    group: 'Alerts:',
    usage: 'judge <analysis> <verdict>',
    description: 'rate an analysis of "picket why", by its id, as right or wrong',
    load: async () => (await import('../api/causes.ts')).judgeRootCause,
  },
  {
    group: 'Checks:',
    usage: 'steps show <check>',
    description: 'show the steps that runs of an agentic check repeat, and the changes of the last version',
    load: async () => (await import('../steps/steps.ts')).showSteps,
  },
  {
    group: 'Checks:',
    usage: 'steps restore <check> <version>',
    description: 'restore an older version of the steps of an agentic check',
    load: async () => (await import('../steps/steps.ts')).restoreSteps,
  },
  {
    group: 'Checks:',
    usage: 'steps forget <check>',
    description: 'forget the steps of an agentic check: its next run finds them again',
    load: async () => (await import('../steps/steps.ts')).forgetSteps,
  },
  {
    group: 'Alerts:',
    usage: 'ack <check>',
    description: 'acknowledge the open alert of a check, by id or name',
    options: [comment, ['--undo', 'withdraw an acknowledgement']],
    load: async () => (await import('../api/alerts.ts')).acknowledge,
  },
  {
    group: 'Alerts:',
    usage: 'silence list',
    description: 'list active silences',
    load: async () => (await import('../api/silences.ts')).listSilences,
  },
  {
    group: 'Alerts:',
    usage: 'silence add',
    description: 'send no notifications for a check, checks with a tag, or a location',
    options: [
      ['--check <check>', 'a check, by id or name'],
      ['--tag <tag...>', 'checks with any of these tags'],
      ['--location <slug>', 'all failures at a location'],
      ['--for <duration>', 'duration: 30m, 2h, 1d'],
      comment,
    ],
    load: async () => (await import('../api/silences.ts')).addSilence,
  },
  {
    group: 'Alerts:',
    usage: 'silence end <id>',
    description: 'end a silence now: checks that still fail send notifications',
    load: async () => (await import('../api/silences.ts')).endSilence,
  },
  {
    group: 'Checks:',
    usage: 'slots <check>',
    description:
      'show the coverage of a check: the share of due slots that were measured, and why others were not',
    options: [
      ['--since <duration>', 'period: 30m, 24h, 7d (default: 24h)'],
      ['--location <slug>', 'at one location only'],
      ['--state <state>', 'list MISSED (when absent), FINAL, CANCELLED, QUEUED or LEASED slots'],
    ],
    load: async () => (await import('../api/slots.ts')).showSlots,
  },
  {
    group: 'Alerts:',
    usage: 'channel list',
    description: 'list the alert channels',
    load: async () => (await import('../api/channels.ts')).listChannels,
  },
  {
    group: 'Alerts:',
    usage: 'channel test <id>',
    description: 'send a test to a channel and report whether it arrived',
    load: async () => (await import('../api/channels.ts')).testChannel,
  },
  {
    group: 'Pages and locations:',
    usage: 'locations',
    description: 'list the private locations with their state, agents and versions',
    load: async () => (await import('../operate/places.ts')).listLocations,
  },
  {
    group: 'Pages and locations:',
    usage: 'drain <location>',
    description: 'have the agents of a private location finish what they run, and take nothing new',
    options: [['--undo', 'have them take new runs again']],
    load: async () => (await import('../operate/places.ts')).drainLocation,
  },
  {
    group: 'Pages and locations:',
    usage: 'incidents',
    description: 'list the open incidents of status pages',
    options: [['--all', 'also resolved incidents']],
    load: async () => (await import('../operate/places.ts')).listIncidents,
  },
  {
    group: 'Pages and locations:',
    usage: 'domain list',
    description: 'list the domains of status pages and dashboards, and whether they are verified',
    load: async () => (await import('../domains/domains.ts')).listDomains,
  },
  {
    group: 'Pages and locations:',
    usage: 'domain check <host>',
    description: 'verify a domain now, and show the missing record',
    load: async () => (await import('../domains/domains.ts')).checkDomain,
  },
];
