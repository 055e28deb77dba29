import type { ResourceSample } from './resource-sample.ts';

const times = { startsAt: '2026-01-01T00:00:00Z', endsAt: '2036-01-01T01:00:00Z' };
const pausing = { ...times, pauseAllChecks: true };

export const sample: ResourceSample = {
  bodies: [
    { name: 'release', ...pausing, timezone: 'Europe/Berlin', repeatInterval: 1, repeatUnit: 'WEEK' },
    { name: 'move', ...times, tags: ['db'], statusPageVisibility: { enabled: true } },
  ],
  change: { description: 'the database moves' },
  refused: {
    endsAt: { name: 'x', ...pausing, startsAt: times.endsAt, endsAt: times.startsAt },
    tags: { name: 'x', ...times },
    timezone: { name: 'x', ...pausing, timezone: '+02:00' },
  },
};
