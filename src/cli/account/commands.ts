import type { ApiCommand } from '../api/command.ts';

const comment = ['--comment <text>', 'reason, shown to other users'] as const;

/** The commands that call a service, one line each; docs/reference/commands.md shows them. */
export const apiCommands: readonly ApiCommand[] = [
  {
    usage: 'status',
    description: 'count the checks in each state, and list those that need attention',
    load: async () => (await import('../api/checks.ts')).showStatus,
  },
  {
    usage: 'checks',
    description: 'list the checks of the account with their states and ids',
    options: [
      ['--tag <tag...>', 'only checks with any of these tags'],
      ['--search <text>', 'only checks with this text in their names'],
    ],
    load: async () => (await import('../api/checks.ts')).listChecks,
  },
  {
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
    usage: 'alerts',
    description:
      'list failing and degraded checks with their causes, checks that are not measured, and burning error budgets',
    load: async () => (await import('../api/alerts.ts')).showAlerts,
  },
  {
    usage: 'causes',
    description: 'list the causes of current failures, each with its checks',
    load: async () => (await import('../api/causes.ts')).showCauses,
  },
  {
    usage: 'why <check>',
    description: 'show the causes of the errors of a check, the evidence, and the next step',
    load: async () => (await import('../api/causes.ts')).showRootCauses,
  },
  {
    usage: 'judge <analysis> <verdict>',
    description: 'rate an analysis of "picket why", by its id, as right or wrong',
    load: async () => (await import('../api/causes.ts')).judgeRootCause,
  },
  {
    usage: 'steps show <check>',
    description: 'show the steps that runs of an agentic check repeat, and the changes of the last version',
    load: async () => (await import('../steps/steps.ts')).showSteps,
  },
  {
    usage: 'steps restore <check> <version>',
    description: 'restore an older version of the steps of an agentic check',
    load: async () => (await import('../steps/steps.ts')).restoreSteps,
  },
  {
    usage: 'steps forget <check>',
    description: 'forget the steps of an agentic check: its next run finds them again',
    load: async () => (await import('../steps/steps.ts')).forgetSteps,
  },
  {
    usage: 'ack <check>',
    description: 'acknowledge the open alert of a check, by id or name',
    options: [comment, ['--undo', 'withdraw an acknowledgement']],
    load: async () => (await import('../api/alerts.ts')).acknowledge,
  },
  {
    usage: 'silence list',
    description: 'list active silences',
    load: async () => (await import('../api/silences.ts')).listSilences,
  },
  {
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
    usage: 'silence end <id>',
    description: 'end a silence now: checks that still fail send notifications',
    load: async () => (await import('../api/silences.ts')).endSilence,
  },
  {
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
    usage: 'channel list',
    description: 'list the alert channels',
    load: async () => (await import('../api/channels.ts')).listChannels,
  },
  {
    usage: 'channel test <id>',
    description: 'send a test to a channel and report whether it arrived',
    load: async () => (await import('../api/channels.ts')).testChannel,
  },
  {
    usage: 'domain list',
    description: 'list the domains of status pages and dashboards, and whether they are verified',
    load: async () => (await import('../domains/domains.ts')).listDomains,
  },
  {
    usage: 'domain check <host>',
    description: 'verify a domain now, and show the missing record',
    load: async () => (await import('../domains/domains.ts')).checkDomain,
  },
];
