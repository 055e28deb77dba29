import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { defineCheckType } from '../contract/check-type.ts';
import { limitsForm } from '../contract/definition/common-form.ts';
import { scheduleProblems } from '../contract/definition/schedule.ts';
import { responseTimeMetric } from '../contract/metric.ts';
import type { DetailSummary } from '../summary/detail-summary.ts';
import { code, comparedText, fact, inWords, took, volatileFact } from '../summary/parts.ts';
import { filtersOf, HeartbeatSpec, jobSignals, limitsOf, pingStates } from './spec.ts';

/** Details of a ping, or of its absence. */
export const HeartbeatDetail = lazySchema(() =>
  z.object({
    state: z.string(),
    source: z.string().nullable(),
    userAgent: z.string().nullable(),
    signal: z
      .enum(jobSignals)
      .nullable()
      .default(null)
      .describe('Signal of the job; null: no ping came, or an older build stored it'),
    runId: z.string().nullable().default(null).describe('`rid` of the ping'),
    exitCode: z.int().nullable().default(null),
    durationMs: z
      .number()
      .nullable()
      .default(null)
      .describe('From the start of the run to this ping, or as the job measured it; null if unknown'),
    message: z.string().nullable().default(null).describe('`msg` of the ping'),
    body: z.string().nullable().default(null).describe('The first 10 kB of its body, without secrets'),
    isBodyCut: z.boolean().default(false),
  }),
);
export type HeartbeatDetail = z.infer<typeof HeartbeatDetail.schema>;

/** Summarizes a ping of a job, or a missing ping, for people. */
function summaryOf(ping: HeartbeatDetail): DetailSummary {
  const note = ping.isBodyCut ? 'Only the first 10 kB are kept.' : null;
  const facts = [
    fact('State', inWords(ping.state)),
    fact('Exit code', ping.exitCode),
    volatileFact('The run took', took(ping.durationMs)),
    volatileFact('Run', code(ping.runId)),
    fact('Message', ping.message),
    fact('From', ping.source),
    fact('Sent by', ping.userAgent),
  ];
  const texts = comparedText('Body', ping.body).map((text) => ({ ...text, note }));
  return { sections: [{ title: 'Ping', facts, texts }] };
}

/** Has no runs: the watched job sends pings, and a missing ping is the failure. */
export const heartbeat = defineCheckType({
  name: 'HEARTBEAT',
  route: 'heartbeat',
  title: 'Heartbeat monitor',
  icon: 'heart',
  purpose: 'Waits for pings of a job, and alerts if one is late or missing.',
  family: 'jobs',
  lane: 'probe',
  timeoutMs: 30_000,
  isSubMinuteAllowed: true,
  hasNetworkErrors: false,
  isRetried: false,
  spec: HeartbeatSpec,
  definitionProblems: ({ heartbeat }) => scheduleProblems(heartbeat.schedule, ['heartbeat', 'schedule']),
  form: {
    name: { label: 'Name', hint: '', isFirst: true },
    'heartbeat.schedule': {
      label: 'A ping is expected',
      hint: 'A job of cron or of a systemd timer has times of a calendar.',
      isFirst: true,
      words: { '': 'at an interval', object: 'at times of a calendar' },
    },
    'heartbeat.period': {
      label: 'Interval',
      hint: 'From 30 seconds to 365 days.',
      initial: 1,
      isFirst: true,
      width: 'half',
      unusedWith: 'heartbeat.schedule',
    },
    'heartbeat.periodUnit': {
      label: 'Unit of the interval',
      hint: '',
      isFirst: true,
      width: 'half',
      unusedWith: 'heartbeat.schedule',
      initial: 'days',
    },
    'heartbeat.schedule.cron': {
      label: 'Cron expression',
      hint: 'Minute, hour, day of month, month, day of week: 0 3 * * MON-FRI. Or @daily and its like.',
    },
    'heartbeat.schedule.onCalendar': {
      label: 'Or OnCalendar of systemd',
      hint: 'Such as Mon..Fri *-*-* 03:00.',
    },
    'heartbeat.schedule.timeZone': { label: 'Time zone', hint: 'Such as Europe/Berlin; empty: UTC.' },
    'heartbeat.grace': {
      label: 'It may be late by',
      hint: 'The grace time: at most 365 days.',
      initial: 1,
      isFirst: true,
      width: 'half',
    },
    'heartbeat.graceUnit': {
      label: 'Unit of the grace time',
      isFirst: true,
      width: 'half',
      initial: 'hours',
    },
    'heartbeat.failureKeywords': {
      label: 'The body says that the job failed',
      hint: 'If it contains one of these texts.',
      topic: 'request',
    },
    'heartbeat.successKeywords': {
      label: 'The body says that the job succeeded',
      hint: 'If it contains one of these texts; other bodies are only logged then.',
      topic: 'request',
    },
    'heartbeat.startKeywords': {
      label: 'The body says that the job has started',
      hint: 'If it contains one of these texts.',
      topic: 'request',
    },
    degradedResponseTime: {
      ...limitsForm.degradedResponseTime,
      hint: 'Milliseconds from the start of a run to its end; empty: never.',
    },
    maxResponseTime: {
      ...limitsForm.maxResponseTime,
      hint: 'Milliseconds; a run that has started and not ended by then fails. Empty: it may take any time.',
    },
    'heartbeat.pingToken': {
      label: 'Secret of the ping URL',
      hint: 'Generated if empty. Anyone with the secret can send pings.',
    },
    'heartbeat.pingUrl': { isHidden: true },
  },
  detail: HeartbeatDetail,
  detailKey: 'heartbeatCheckResult',
  shorthand: { names: ['CRON', 'PUSH'] },
  summary: summaryOf,
  analytics: {
    route: 'heartbeat-checks',
    metrics: [{ ...responseTimeMetric, label: 'Time from start to end' }],
    states: { path: ['state'], names: pingStates },
  },
  keptWhenEmpty: [{ path: ['heartbeat', 'pingToken'] }],
  pings: {
    expectation: (spec) => ({ token: spec.heartbeat.pingToken || null, ...limitsOf(spec) }),
    scheduleField: 'heartbeat.schedule',
    filters: filtersOf,
    limits: ({ degradedResponseTime, maxResponseTime }) => ({ degradedResponseTime, maxResponseTime }),
    url: ({ heartbeat }) => heartbeat.pingUrl,
    addressed: (spec, { token, url }) => ({
      ...spec,
      heartbeat: { ...spec.heartbeat, pingToken: token, pingUrl: url },
    }),
  },
});
