import { describe, expect, it } from 'vitest';

const { whyNotShared } = await import(new URL('./shared-install.mjs', import.meta.url).href);
const { harmlessVariables } = await import(new URL('./harmless-settings.mjs', import.meta.url).href);

const npmLock = (entry: Record<string, unknown>) =>
  JSON.stringify({ lockfileVersion: 3, packages: { '': {}, 'node_modules/a': entry } });
const pinned = npmLock({ version: '1.0.0', resolved: 'https://registry/a.tgz', integrity: 'sha512-x' });

/** Why a suite is not shared, with a harmless manifest and lockfile where none is given. */
function problemOf(
  files: Readonly<Record<string, string>>,
  { manager = 'npm', lockfile = pinned }: { readonly manager?: string; readonly lockfile?: string } = {},
): string | undefined {
  const all = { 'package.json': '{"name":"shop"}', ...files };
  const names = new Set(Object.keys(all).flatMap((path) => path.split('/')));
  return whyNotShared({ manager, lockfile, files: Object.entries(all), names });
}
const scripts = (entries: Record<string, string>) => ({
  'package.json': JSON.stringify({ scripts: entries }),
});

describe('an installation is shared', () => {
  const harmless: Readonly<Record<string, Parameters<typeof problemOf>>> = {
    'with test scripts and hooks of Git': [scripts({ test: 'playwright test', prepare: 'husky || true' })],
    'with a private registry': [
      {
        '.npmrc':
          '; ours\n@shop:registry=https://r/\n//r/:_authToken=${NPM_TOKEN}\nshamefully-hoist=true\npublic-hoist-pattern[]=*x*\n',
      },
    ],
    'with packages of a workspace': [
      { 'packages/a/package.json': '{"name":"a"}' },
      { lockfile: npmLock({ resolved: 'packages/a', link: true }) },
    ],
    'of pnpm': [
      { 'pnpm-workspace.yaml': 'packages:\n  - "packages/*"\ncatalog:\n  a: 1.0.0\n' },
      { manager: 'pnpm', lockfile: 'packages:\n  a@1.0.0:\n    resolution: {integrity: sha512-x==}\n' },
    ],
    'of Yarn 1': [
      { '.yarnrc': 'registry "https://r/"\n' },
      {
        manager: 'yarn1',
        lockfile:
          '# yarn lockfile v1\n\n\na@^1:\n  version "1.0.0"\n  resolved "https://r/a.tgz#x"\n  integrity sha512-x\n',
      },
    ],
    'of Yarn 4': [
      {
        '.yarnrc.yml': 'nodeLinker: node-modules\nnpmScopes:\n  shop:\n    npmRegistryServer: "https://r/"\n',
      },
      {
        manager: 'yarn4',
        lockfile:
          '__metadata:\n  version: 8\n\n"a@npm:^1":\n  version: 1.0.0\n  resolution: "a@npm:1.0.0"\n  checksum: 10c0/x\n\n' +
          '"a@patch:a@npm%3A^1#optional!builtin<compat/a>":\n  resolution: "a@patch:a@npm%3A1.0.0#optional!builtin<compat/a>::version=1"\n  conditions: os=darwin\n\n' +
          '"shop@workspace:.":\n  resolution: "shop@workspace:."\n',
      },
    ],
  };
  for (const [name, given] of Object.entries(harmless)) {
    it(name, () => expect(problemOf(...given)).toBeUndefined());
  }
});

describe('an installation is not shared', () => {
  const doubtful: Readonly<Record<string, Parameters<typeof problemOf>>> = {
    'with a script that runs while installing': [scripts({ postinstall: 'node place.js' })],
    'with more than hooks of Git': [scripts({ prepare: 'husky && node place.js' })],
    'with code for the manager': [{ '.pnpmfile.cjs': '' }],
    'with an addon of its own': [{ 'binding.gyp': '{}' }],
    'with packages in the bundle': [{ 'e2e/node_modules/a/index.js': '' }],
    'with a program in the settings': [{ '.npmrc': 'script-shell=./shell\n' }],
    'with options of Node': [{ '.npmrc': 'node_options = --require ./x.js\n' }],
    'with a folder of the suite as cache': [{ '.npmrc': '[section]\ncache=.cache\n' }],
    'with a plugin': [{ '.yarnrc.yml': 'plugins:\n  - path: x.cjs\n' }],
    'with settings behind an anchor': [{ '.yarnrc.yml': 'nodeLinker: &x node-modules\n' }],
    'with keys in another notation': [{ '.yarnrc.yml': '{plugins: [x.cjs]}\n' }],
    'with hooks of a package': [{ 'pnpm-workspace.yaml': 'configDependencies:\n  a: 1.0.0+sha512-x\n' }],
    'with patches': [{ 'package.json': '{"pnpm":{"patchedDependencies":{"a":"a.patch"}}}' }],
    'with commands of the workspace': [{ 'packages/a/package.json': '{"bin":"x.js"}' }],
    'with a workspace outside': [{ 'package.json': '{"workspaces":["../x"]}' }],
    'with a manifest that is not an object': [{ 'package.json': '[]' }],
    'with a package without a checksum': [{}, { lockfile: npmLock({ resolved: 'https://r/a.tgz' }) }],
    'with a package of Git': [
      {},
      { lockfile: npmLock({ resolved: 'git+ssh://git@h/a.git#1', integrity: 'sha512-x' }) },
    ],
    'with a file of the suite': [
      {},
      { lockfile: npmLock({ resolved: 'file:a.tgz', integrity: 'sha512-x' }) },
    ],
    'with a link that leads out': [{}, { lockfile: npmLock({ resolved: '../a', link: true }) }],
    'with a lockfile of npm 6': [{}, { lockfile: '{"dependencies":{}}' }],
    'with a folder as package of pnpm': [
      {},
      {
        manager: 'pnpm',
        lockfile: 'packages:\n  a@file:a:\n    resolution: {directory: a, type: directory}\n',
      },
    ],
    'with a tarball as package of pnpm': [
      {},
      { manager: 'pnpm', lockfile: '    resolution: {tarball: https://h/a.tgz}\n' },
    ],
    'with a link of Yarn 1': [
      {},
      { manager: 'yarn1', lockfile: '"a@link:./a":\n  version "0.0.0"\n  uid ""\n' },
    ],
    'with a patch of Yarn 4': [
      {},
      {
        manager: 'yarn4',
        lockfile:
          '"a@patch:a":\n  resolution: "a@patch:a@npm%3A1.0.0#./a.patch::locator=shop"\n  checksum: 10c0/x\n',
      },
    ],
    'of Bun': [{}, { manager: 'bun', lockfile: '{}' }],
  };
  for (const [name, given] of Object.entries(doubtful)) {
    it(name, () => expect(problemOf(...given)).toEqual(expect.any(String)));
  }
});

describe('variables of a shared installation', () => {
  it('are those of registries, and those that settings refer to', () => {
    const names = [
      'npm_config_registry',
      'npm_config_//r/:_authToken',
      'NPM_TOKEN',
      'HTTPS_PROXY',
      'OTHER',
      'BUN_X',
    ];
    expect(harmlessVariables(names, ['NPM_TOKEN'])).toEqual({
      chosen: ['npm_config_registry', 'npm_config_//r/:_authToken', 'NPM_TOKEN', 'HTTPS_PROXY'],
    });
  });

  for (const name of [
    'npm_config_script_shell',
    'NPM_CONFIG_NODE_OPTIONS',
    'pnpm_config_store_dir',
    'YARN_PLUGINS',
  ]) {
    it(`never include ${name}`, () => expect(harmlessVariables([name], [])).toEqual({ unknown: name }));
  }

  it('never include options of Node, whatever refers to them', () => {
    expect(harmlessVariables(['NODE_OPTIONS'], ['NODE_OPTIONS'])).toEqual({ unknown: 'NODE_OPTIONS' });
    expect(harmlessVariables(['NODE_OPTIONS'], [])).toEqual({ chosen: [] });
  });
});
