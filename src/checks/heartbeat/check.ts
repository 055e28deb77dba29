import { z } from 'zod';
import { defineCheckType } from '../contract/check-type.ts';
import type { DetailSummary } from '../summary/detail-summary.ts';
import { fact, inWords } from '../summary/parts.ts';
import { HeartbeatSpec, limitsOf, pingStates } from './spec.ts';

/** Details of a ping, or of its absence. */
export const HeartbeatDetail = z.object({
  state: z.string(),
  source: z.string().nullable(),
  userAgent: z.string().nullable(),
});
export type HeartbeatDetail = z.infer<typeof HeartbeatDetail>;

/** Summarizes a ping of a job, or a missing ping, for people. */
function summaryOf({ state, source, userAgent }: HeartbeatDetail): DetailSummary {
  const facts = [fact('State', inWords(state)), fact('From', source), fact('Sent by', userAgent)];
  return { sections: [{ title: 'Ping', facts }] };
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
  form: {
    name: { label: 'Name', hint: '', isFirst: true },
    'heartbeat.period': {
      label: 'A ping is expected every',
      hint: 'From 30 seconds to 365 days.',
      initial: 1,
      isFirst: true,
      width: 'half',
    },
    'heartbeat.periodUnit': { label: 'Unit of the interval', isFirst: true, width: 'half', initial: 'days' },
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
    metrics: [],
    states: { path: ['state'], names: pingStates },
  },
  keptWhenEmpty: [{ path: ['heartbeat', 'pingToken'] }],
  pings: {
    expectation: (spec) => ({ token: spec.heartbeat.pingToken || null, ...limitsOf(spec) }),
    url: ({ heartbeat }) => heartbeat.pingUrl,
    addressed: (spec, { token, url }) => ({
      ...spec,
      heartbeat: { ...spec.heartbeat, pingToken: token, pingUrl: url },
    }),
  },
});
