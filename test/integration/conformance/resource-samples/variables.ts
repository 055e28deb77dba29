import type { ResourceSample } from './resource-sample.ts';

export const sample: ResourceSample = {
  bodies: [
    { key: 'STAGE', value: 'x' },
    { key: 'A_HOST', value: 'a.test' },
  ],
  change: { value: 'y' },
  refused: { key: { key: '..', value: 'x' } },
};
