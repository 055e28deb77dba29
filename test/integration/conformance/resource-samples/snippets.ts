import type { ResourceSample } from './resource-sample.ts';

export const sample: ResourceSample = {
  bodies: [
    { name: 'sign in', script: 'first();' },
    { name: 'other', script: 'other();' },
  ],
  change: { script: 'second();' },
  refused: { name: { name: '', script: 'x' } },
};
