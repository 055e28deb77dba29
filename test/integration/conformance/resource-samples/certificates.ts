import { createAuthority } from '../../../helpers/targets/certificates.ts';
import type { ResourceSample } from './resource-sample.ts';

const issued = await (await createAuthority()).issue();

export const sample: ResourceSample = {
  bodies: [
    { host: 'a.test', ...issued },
    { host: '*.test', ...issued },
  ],
  refused: { cert: { host: 'a.test', ...issued, cert: 'x' } },
  hidden: ['key', 'passphrase'],
};
