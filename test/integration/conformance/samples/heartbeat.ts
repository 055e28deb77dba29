import type { SampleBody, Samples } from './samples.ts';

const limits = { period: 1, periodUnit: 'minutes', grace: 10, graceUnit: 'seconds' };
const heartbeat = (fields: SampleBody): SampleBody => ({ heartbeat: { ...limits, ...fields } });

export const samples: Samples = {
  minimal: heartbeat({}),
  refused: {
    'heartbeat.period': heartbeat({ period: 29, periodUnit: 'seconds' }),
    'heartbeat.grace': heartbeat({ grace: 366, graceUnit: 'days' }),
    'heartbeat.pingToken': heartbeat({ pingToken: 'guess-me' }),
  },
};
