import type { ResourceSample } from './resource-sample.ts';

const checkId = 'a5d8b1f0-3c1e-4a6f-9a55-0d1a4c1f7e10';

export const sample: ResourceSample = {
  bodies: [
    { name: 'shop', tags: ['shop'], target: 99.9 },
    { name: 'desk', tags: ['desk', 'office'], target: 95, windowDays: 7, description: 'in the morning' },
  ],
  change: {
    target: 99.5,
    windowDays: 90,
    burnAlert: { enabled: false, percentInHour: 1, percentInSixHours: 9, minFailedRuns: 5 },
  },
  refused: {
    target: { name: 'x', tags: ['a'], target: 100 },
    windowDays: { name: 'x', tags: ['a'], target: 99, windowDays: 91 },
    checkId: { name: 'x', target: 99, checkId, tags: ['a'] },
    alertChannelIds: { name: 'x', tags: ['a'], target: 99, alertChannelIds: [987_654] },
    'burnAlert.percentInHour': { name: 'x', tags: ['a'], target: 99, burnAlert: { percentInHour: 0 } },
    groupId: { name: 'x', target: 99, groupId: 987_654 },
  },
};
