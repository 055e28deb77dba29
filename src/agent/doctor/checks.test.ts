import { expect, it } from 'vitest';
import { locationChecks } from './checks.ts';

it('does not say of the types of a location that they are not offered when none was tried', async () => {
  const need = { checkType: 'URL', checkCount: 2, names: ['Shop', 'Intranet'] };
  const patient = {
    findings: [{ examination: 'checks', status: 'skipped', detail: 'not examined: see memory agent' }],
    settings: { scripts: {} },
    contact: async () => ({ attitude: { kind: 'known' }, needs: async () => [need] }),
  };
  expect(await locationChecks.examine(patient as never)).toMatchObject({
    status: 'skipped',
    detail: 'not examined: see checks',
  });
});
