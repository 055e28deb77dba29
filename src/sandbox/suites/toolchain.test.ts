import { expect, it } from 'vitest';
import type { InstalledManager, ManagerName } from './package-managers.ts';
import { chooseToolchain, type SuiteWishes } from './toolchain.ts';

const installed = (
  [
    ['npm', '11.19.1'],
    ['npm', '10.9.9'],
    ['pnpm', '10.34.9'],
    ['pnpm', '9.15.9'],
    ['pnpm', '8.15.9'],
    ['pnpm', '12.21.0'],
    ['yarn1', '1.22.22'],
    ['yarn4', '4.18.1'],
    ['yarn4', '3.8.7'],
  ] as const
).map(([manager, version]): InstalledManager => {
  const name = manager.replace(/\d$/, '');
  return { manager, version, programs: [{ name, path: `/${manager}-${version}`, isScript: true }] };
});
const nodes = [
  { version: '24.21.0', path: '/node24' },
  { version: '22.23.5', path: '/node22' },
] as const;

function chosen(
  manager: ManagerName | null,
  wishes: Partial<SuiteWishes> = {},
  engineVersion: string | null = null,
) {
  const toolchain = chooseToolchain(
    {
      manager,
      wishes: { packageManager: null, engines: {}, lockfileVersion: null, ...wishes },
      engine: 'node',
      engineVersion,
    },
    { packageManagers: { directory: '/managers', installed }, nodes: [...nodes] },
  );
  return {
    manager: toolchain.manager?.version,
    node: toolchain.node.version,
    unmet: toolchain.unmet.length,
    programs: Object.fromEntries(toolchain.programs.map(({ name, command }) => [name, command.join(' ')])),
  };
}

it('uses the usual versions for a suite without wishes', () => {
  expect(chosen('npm')).toMatchObject({ manager: '11.19.1', node: '24.21.0', unmet: 0 });
  expect(chosen(null).programs).toMatchObject({ npm: '/node24 /npm-11.19.1', yarn: '/node24 /yarn4-4.18.1' });
});

const wishes: readonly (readonly [string, ManagerName, Partial<SuiteWishes>, string])[] = [
  ['packageManager', 'pnpm', { packageManager: 'pnpm@9.12.3+sha512.abc' }, '9.15.9'],
  [
    'packageManager before the lockfile',
    'pnpm',
    { packageManager: 'pnpm@10.0.0', lockfileVersion: '6.0' },
    '10.34.9',
  ],
  ['packageManager of another manager', 'npm', { packageManager: 'pnpm@9.12.3' }, '11.19.1'],
  ['engines', 'npm', { engines: { npm: '^10' } }, '10.9.9'],
  ['engines that the usual one meets', 'npm', { engines: { npm: '>=9' } }, '11.19.1'],
  ['a lockfile of pnpm 8', 'pnpm', { lockfileVersion: '6.0' }, '8.15.9'],
  ['a lockfile of pnpm 9 and later', 'pnpm', { lockfileVersion: '9.0' }, '10.34.9'],
  ['a lockfile of Yarn 3', 'yarn4', { lockfileVersion: '6' }, '3.8.7'],
  ['a lockfile of Yarn 4', 'yarn4', { lockfileVersion: '8' }, '4.18.1'],
  ['the newest pnpm', 'pnpm', { packageManager: 'pnpm@12.1.0' }, '12.21.0'],
];
for (const [name, manager, wish, version] of wishes) {
  it(`follows ${name}`, () => expect(chosen(manager, wish)).toMatchObject({ manager: version, unmet: 0 }));
}

it('uses the next version where it has not the one that is asked for, and says so', () => {
  expect(chosen('pnpm', { packageManager: 'pnpm@11.0.0' })).toMatchObject({ manager: '12.21.0', unmet: 1 });
  expect(chosen('pnpm', { packageManager: 'pnpm@13.0.0' })).toMatchObject({ manager: '12.21.0', unmet: 1 });
  expect(chosen('npm', { engines: { npm: 'nonsense' } })).toMatchObject({ manager: '11.19.1', unmet: 1 });
});

it('chooses the Node of the check, else of the manifest, for every program', () => {
  expect(chosen('npm', { engines: { node: '>=22' } })).toMatchObject({ node: '24.21.0' });
  expect(chosen('npm', { engines: { node: '22.1.0' } })).toMatchObject({ node: '22.23.5', unmet: 0 });
  expect(chosen('npm', { engines: { node: '24' } }, '22.x').programs).toEqual({
    node: '/node22',
    npm: '/node22 /npm-11.19.1',
    pnpm: '/node22 /pnpm-10.34.9',
    yarn: '/node22 /yarn4-4.18.1',
  });
  expect(chosen('npm', { engines: { node: '<20' } })).toMatchObject({ node: '24.21.0', unmet: 1 });
});
