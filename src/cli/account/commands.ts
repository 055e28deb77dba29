import type { ApiCommand } from '../api/command.ts';

const comment = ['--comment <text>', 'why, for the others'] as const;

/** The commands that ask a service, one line each; docs/how-to/command-line.md shows them. */
export const apiCommands: readonly ApiCommand[] = [
  {
    usage: 'status',
    description: 'how many checks stand in each state, and those that need a look',
    load: async () => (await import('../api/checks.ts')).showStatus,
  },
  {
    usage: 'checks',
    description: 'the checks of the account with their states and ids',
    options: [
      ['--tag <tag...>', 'those with any of these tags'],
      ['--search <text>', 'those with this in their names'],
    ],
    load: async () => (await import('../api/checks.ts')).listChecks,
  },
  {
    usage: 'logs <check>',
    description: 'the last runs of a check, newest first, and why they failed',
    options: [
      ['--since <duration>', 'how far back: 30m, 24h, 7d (24h when absent)'],
      ['--location <slug>', 'at one location only'],
      ['--failures', 'only runs that failed'],
    ],
    load: async () => (await import('../api/checks.ts')).showLogs,
  },
  {
    usage: 'alerts',
    description: 'what does not pass now and by what, what is not measured, which error budgets burn',
    load: async () => (await import('../api/alerts.ts')).showAlerts,
  },
  {
    usage: 'causes',
    description: 'what checks fail by now, each cause with its checks',
    load: async () => (await import('../api/causes.ts')).showCauses,
  },
  {
    usage: 'why <check>',
    description: 'what the errors of a check are caused by, what it follows from, and what to do next',
    load: async () => (await import('../api/causes.ts')).showRootCauses,
  },
  {
    usage: 'judge <analysis> <verdict>',
    description: 'say whether an analysis of "picket why", by its id, is right or wrong',
    load: async () => (await import('../api/causes.ts')).judgeRootCause,
  },
  {
    usage: 'steps show <check>',
    description: 'the steps that runs of an agentic check repeat, and what the last version changed',
    load: async () => (await import('../steps/steps.ts')).showSteps,
  },
  {
    usage: 'steps restore <check> <version>',
    description: 'take an older version of the steps of an agentic check back',
    load: async () => (await import('../steps/steps.ts')).restoreSteps,
  },
  {
    usage: 'steps forget <check>',
    description: 'forget the steps of an agentic check: its next run finds them anew',
    load: async () => (await import('../steps/steps.ts')).forgetSteps,
  },
  {
    usage: 'ack <check>',
    description: 'acknowledge what is open of a check, named by id or name',
    options: [comment, ['--undo', 'take an acknowledgement back']],
    load: async () => (await import('../api/alerts.ts')).acknowledge,
  },
  {
    usage: 'silence list',
    description: 'silences that last',
    load: async () => (await import('../api/silences.ts')).listSilences,
  },
  {
    usage: 'silence add',
    description: 'notify nobody of a check, checks with a tag, or all at a location',
    options: [
      ['--check <check>', 'a check, by id or name'],
      ['--tag <tag...>', 'checks with any of these tags'],
      ['--location <slug>', 'what fails at a location'],
      ['--for <duration>', 'for how long: 30m, 2h, 1d'],
      comment,
    ],
    load: async () => (await import('../api/silences.ts')).addSilence,
  },
  {
    usage: 'silence end <id>',
    description: 'end a silence now: what still fails is sent',
    load: async () => (await import('../api/silences.ts')).endSilence,
  },
  {
    usage: 'slots <check>',
    description: 'how much of what was due of a check was measured, and why the rest was not',
    options: [
      ['--since <duration>', 'how far back: 30m, 24h, 7d (24h when absent)'],
      ['--location <slug>', 'at one location only'],
      ['--state <state>', 'list MISSED (when absent), FINAL, CANCELLED, QUEUED or LEASED slots'],
    ],
    load: async () => (await import('../api/slots.ts')).showSlots,
  },
  {
    usage: 'channel list',
    description: 'the channels that alerts go to',
    load: async () => (await import('../api/channels.ts')).listChannels,
  },
  {
    usage: 'channel test <id>',
    description: 'send a test to a channel and say whether it arrived',
    load: async () => (await import('../api/channels.ts')).testChannel,
  },
  {
    usage: 'domain list',
    description: 'the domains of status pages and dashboards, and whether they are proven',
    load: async () => (await import('../domains/domains.ts')).listDomains,
  },
  {
    usage: 'domain check <host>',
    description: 'look for the proof of a domain now, and say which record is missing',
    load: async () => (await import('../domains/domains.ts')).checkDomain,
  },
];
