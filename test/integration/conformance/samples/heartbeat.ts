import type { SampleBody, Samples } from './samples.ts';

const limits = { period: 1, periodUnit: 'minutes', grace: 10, graceUnit: 'seconds' };
const heartbeat = (fields: SampleBody): SampleBody => ({ heartbeat: { ...limits, ...fields } });

export const samples: Samples = {
  minimal: heartbeat({}),
  refused: {
    'heartbeat.period': heartbeat({ period: 29, periodUnit: 'seconds' }),
    'heartbeat.grace': heartbeat({ grace: 366, graceUnit: 'days' }),
    'heartbeat.periodUnit': heartbeat({ periodUnit: null }),
    'heartbeat.failureKeywords.0': heartbeat({ failureKeywords: [''] }),
    'heartbeat.successKeywords': heartbeat({ successKeywords: Array.from({ length: 21 }, () => 'OK') }),
    'heartbeat.startKeywords': heartbeat({ startKeywords: 'begin' }),
    'heartbeat.schedule.cron': heartbeat({ period: null, schedule: { cron: '0 24 * * *' } }),
    'heartbeat.schedule.onCalendar': heartbeat({ period: null, schedule: { onCalendar: '24:00' } }),
    'heartbeat.schedule.timeZone': heartbeat({
      period: null,
      schedule: { cron: '@daily', timeZone: 'CEST' },
    }),
    degradedResponseTime: { ...heartbeat({}), degradedResponseTime: -1 },
    maxResponseTime: { ...heartbeat({}), maxResponseTime: 32 * 86_400_000 },
    'heartbeat.pingToken': heartbeat({ pingToken: 'guess-me' }),
  },
};
