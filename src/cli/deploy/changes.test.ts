import { expect, it } from 'vitest';
import { plannedChanges } from './changes.ts';
import { planLines } from './plan.ts';

it('reports a thing as replaced, not as new', () => {
  const home = { type: 'check', logicalId: 'home' } as const;
  const diff = [
    { ...home, physicalId: '5a3f', action: 'DELETE' },
    { ...home, action: 'CREATE' },
    { type: 'check', logicalId: 'new', action: 'CREATE' },
    { type: 'check', logicalId: 'old', physicalId: '77', action: 'DELETE' },
  ] as const;
  const changes = plannedChanges(diff, { logicalId: 'shop', name: 'Shop', definitions: [] }, []);
  expect(changes.map(({ file, action }) => [file, action])).toEqual([
    ['checks/home.yaml', 'REPLACE'],
    ['checks/new.yaml', 'CREATE'],
    ['checks/old.yaml', 'DELETE'],
  ]);
  expect(planLines({ changes, warnings: [] })).toEqual([
    '± checks/home.yaml  replace',
    '+ checks/new.yaml  create',
    '- checks/old.yaml  delete',
    '',
    '1 to create, 1 to replace, 1 to delete.',
  ]);
});
