import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SuiteFiles } from '../../helpers/scripts/suite-stage.ts';
import { type SuiteRunOptions, type SuiteStage, startSuiteStage } from '../../helpers/scripts/suite-stage.ts';

/** Prints the value of its dependency; no Playwright suite is needed for that. */
const reader = "console.log('GOT', require('dep'));";
/** Installs without a registry: npm runs the script of the manifest. */
const manifest = JSON.stringify({
  name: 'shop',
  version: '1.0.0',
  scripts: { postinstall: 'node place.js' },
});
const lockfile = JSON.stringify({
  name: 'shop',
  version: '1.0.0',
  lockfileVersion: 3,
  packages: { '': { name: 'shop', version: '1.0.0', hasInstallScript: true } },
});
const place = (value: string) =>
  `const fs = require('node:fs'); fs.mkdirSync('node_modules/dep', { recursive: true });
   fs.writeFileSync('node_modules/dep/index.js', 'module.exports = ' + JSON.stringify(${value}) + ';');`;
const victim: SuiteFiles = {
  'package.json': manifest,
  'package-lock.json': lockfile,
  'place.js': place("'clean'"),
  'read.js': reader,
};

describe('dependencies that a run links to', () => {
  let stage: SuiteStage;
  beforeAll(async () => {
    stage = await startSuiteStage();
  });
  afterAll(async () => {
    await stage.close();
  });

  function itInstalls(name: string, run: () => Promise<void>): void {
    it(name, { timeout: 120_000 }, async ({ skip }) => {
      const missing = stage.missingManager('npm');
      if (missing !== undefined) skip(missing);
      await run();
    });
  }

  /** The value that a suite got, and whether it installed the dependency itself. */
  async function got(files: SuiteFiles, { spec, context }: SuiteRunOptions = {}) {
    const options = { spec: { testCommand: 'node read.js', ...spec }, context };
    const { detail } = (await stage.run(files, options)).outcome;
    const texts = detail.jobLog.map(({ msg }) => msg);
    return {
      value: texts.find((text) => text.startsWith('GOT '))?.slice(4) ?? texts.join('\n'),
      source: detail.install?.source,
    };
  }

  const poisons: Readonly<Record<string, { files?: SuiteFiles; options?: SuiteRunOptions }>> = {
    'a script of package.json with the same name': { files: { 'place.js': place("'poisoned'") } },
    NODE_OPTIONS: {
      files: {
        'hook.js': `process.on('exit', () => { try { require('node:fs').writeFileSync('node_modules/dep/index.js', 'module.exports = "poisoned";'); } catch {} });`,
      },
      options: { context: { variables: { NODE_OPTIONS: '--require ./hook.js' } } },
    },
    'a setting of the package manager': {
      options: { context: { variables: { npm_config_script_shell: '/bin/true' } } },
    },
    'a variable that only scripts know': {
      options: { context: { variables: { DEP: 'poisoned' } } },
    },
  };
  for (const [name, { files, options }] of Object.entries(poisons)) {
    itInstalls(`are not shared with another check that has ${name}`, async () => {
      // Its own file, so that no case can reuse an installation of another one.
      const own = { ...victim, 'case.txt': name };
      await got({ ...own, ...files }, options);
      const first = await got(own);
      expect(first.value).toBe('clean');
      expect(await got(own)).toEqual({ value: 'clean', source: 'cache' });
    });
  }

  itInstalls('match the current files of the suite', async () => {
    expect(await got({ ...victim, 'place.js': place("'old'") })).toMatchObject({ value: 'old' });
    expect(await got({ ...victim, 'place.js': place("'new'") })).toMatchObject({ value: 'new' });
  });

  itInstalls('see the variables in settings and commands, and are cached by their values', async () => {
    const named = { ...victim, '.npmrc': 'init-author-name=${DEP}\n', 'place.js': place('process.env.DEP') };
    const withDep = (value: string) =>
      got(named, { context: { variables: { DEP: value, CHECK_RUN_ID: String(Math.random()) } } });
    expect(await withDep('one')).toEqual({ value: 'one', source: 'installed' });
    expect(await withDep('two')).toEqual({ value: 'two', source: 'installed' });
    expect(await withDep('one')).toEqual({ value: 'one', source: 'cache' });
    const installCommand =
      'mkdir -p node_modules/dep && echo "module.exports = \'$GREETING\'" > node_modules/dep/index.js';
    const greeted = await got(victim, {
      spec: { installCommand },
      context: { variables: { GREETING: 'hello', npm_config_x: 'y' } },
    });
    expect(greeted).toEqual({ value: 'hello', source: 'installed' });
  });
});
