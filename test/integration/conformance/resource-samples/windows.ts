import type { ResourceSample } from './resource-sample.ts';

const oneHour = { startsAt: '2026-01-01T00:00:00Z', endsAt: '2036-01-01T01:00:00Z' };

export const sample: ResourceSample = {
  bodies: [
    { name: 'release', ...oneHour },
    { name: 'move', ...oneHour, tags: ['db'], statusPageVisibility: { enabled: true } },
  ],
  change: { description: 'the database moves' },
  refused: { endsAt: { name: 'x', startsAt: oneHour.endsAt, endsAt: oneHour.startsAt } },
};
