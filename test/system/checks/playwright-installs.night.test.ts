import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunContext } from '../../../src/checks/contract/run-context.ts';
import type { ManagerName } from '../../../src/sandbox/suites/package-managers.ts';
import {
  developProject,
  type Project,
  registryVariables,
  type SuiteFiles,
  type SuiteStage,
  startSuiteStage,
} from '../../helpers/scripts/suite-stage.ts';

/**
 * Compatible with the oldest package managers, and installed in the newest runtime, so that nothing more is downloaded
 * here.
 */
const playwrightVersion = '1.58.2';

const files: SuiteFiles = {
  'package.json': JSON.stringify({
    name: 'shop-e2e',
    private: true,
    devDependencies: { '@playwright/test': playwrightVersion },
  }),
  'playwright.config.ts':
    "import { defineConfig } from '@playwright/test';\nexport default defineConfig({ retries: 1, workers: 1 });",
  'sums.spec.ts': `import { test, expect } from '@playwright/test';
    test('right', () => { expect(1).toBe(1); });
    test('wrong', () => { expect(1).toBe(2); });
    test('later', ({}, info) => { expect(info.retry).toBe(1); });
    test.skip('never', () => {});`,
};

const lockfiles: Readonly<Record<ManagerName, string>> = {
  npm: 'package-lock.json',
  pnpm: 'pnpm-lock.yaml',
  yarn1: 'yarn.lock',
  yarn4: 'yarn.lock',
  bun: 'bun.lock',
};

/**
 * A full installation takes a minute or more of two cores, so `npm test` runs one; see CONTRIBUTING.md for the others.
 */
const managers: readonly ManagerName[] =
  process.env.EVERY_PACKAGE_MANAGER === 'true' ? (Object.keys(lockfiles) as ManagerName[]) : ['npm'];

describe('installing the dependencies of suites', () => {
  let stage: SuiteStage;
  let context: Partial<RunContext>;
  /** By manager: an installation takes seconds, and no test modifies it. */
  const projects = new Map<ManagerName, Promise<Project>>();
  beforeAll(async () => {
    stage = await startSuiteStage();
    context = { variables: await registryVariables(), timeoutMs: 170_000 };
  });
  afterAll(async () => {
    for (const project of projects.values()) await (await project).close();
    await stage.close();
  });

  /** Package managers are optional: tests of a missing one are skipped, with the reason. */
  function itInstalls(manager: ManagerName, name: string, run: (project: Project) => Promise<void>): void {
    it(name, { timeout: 180_000 }, async ({ skip }) => {
      const missing = stage.missingManager(manager);
      if (missing !== undefined) skip(missing);
      const project = projects.get(manager) ?? developProject(files, manager);
      projects.set(manager, project);
      await run(await project);
    });
  }

  for (const manager of managers) {
    itInstalls(
      manager,
      `${manager}: the counts are those of Playwright run directly, cold and cached`,
      async (project) => {
        const suite = await project.files(lockfiles[manager]);
        const cold = (await stage.run(suite, { context })).outcome.detail;
        expect(cold.install, JSON.stringify(cold.errors)).toMatchObject({ source: 'installed' });
        const kept = await readdir(stage.dependencies.directory);
        expect(
          kept.filter((name) => !/^[0-9a-f]{64}$/.test(name)),
          'half done',
        ).toEqual([]);
        const cached = (await stage.run(suite, { context })).outcome.detail;
        expect(cached.install).toMatchObject({ source: 'cache' });
        const isShared = manager !== 'bun';
        const changed = { ...suite, 'sums.spec.ts': `${suite['sums.spec.ts']}\n// changed` };
        const after = (await stage.run(changed, { context })).outcome.detail;
        expect(after.install, JSON.stringify(after.jobLog)).toMatchObject({
          source: isShared ? 'cache' : 'installed',
        });
        const direct = await project.runDirectly();
        expect(direct).toEqual({ expected: 1, unexpected: 1, flaky: 1, skipped: 1 });
        for (const detail of [cold, cached, after]) {
          expect(detail.stats).toEqual(direct);
          expect(detail.packageManager).toBe(manager);
          expect(detail.playwrightVersion).toBe(playwrightVersion);
        }
        const commandAt =
          after.jobLog.find(({ msg }) => msg.startsWith('Running tests: '))?.time ?? Number.NaN;
        console.info(
          `${manager}: install cold ${cold.install?.durationMs} ms, cached ${cached.install?.durationMs} ms, ` +
            `of a changed test ${after.install?.durationMs} ms, whose command starts ${commandAt - after.startTime} ms after the run; ` +
            `whole run cold ${cold.endTime - cold.startTime} ms, cached ${cached.endTime - cached.startTime} ms`,
        );
      },
    );
  }

  for (const manager of managers) {
    itInstalls(
      manager,
      `${manager}: a lockfile that does not fit package.json is the suite's fault`,
      async (project) => {
        const suite = await project.files(lockfiles[manager]);
        const changed = {
          ...JSON.parse(suite['package.json'] ?? ''),
          dependencies: { 'is-number': '7.0.0' },
        };
        const { outcome } = await stage.run(
          { ...suite, 'package.json': JSON.stringify(changed) },
          { context },
        );
        expect(outcome.failure).toMatchObject({ code: 'INSTALL_FAILED', owner: 'config' });
        expect(outcome.failure?.message).toMatch(/lock|frozen/i);
      },
    );
  }

  for (const manager of managers.filter((name) => name !== 'bun')) {
    it(`${manager}: packages of a workspace are the suite's own, all others are shared`, {
      timeout: 180_000,
    }, async ({ skip }) => {
      const missing = stage.missingManager(manager);
      if (missing !== undefined) skip(missing);
      const range = manager === 'pnpm' || manager === 'yarn4' ? 'workspace:*' : '1.0.0';
      const project = await developProject(
        {
          'package.json': JSON.stringify({
            name: 'mono',
            private: true,
            workspaces: ['packages/*'],
            devDependencies: { '@shop/pages': range },
          }),
          'packages/pages/package.json': JSON.stringify({
            name: '@shop/pages',
            version: '1.0.0',
            dependencies: { 'is-number': '7.0.0' },
          }),
          'packages/pages/index.js': "module.exports = (value) => require('is-number')(value) + ' one';",
          'read.js': "console.log('GOT', require('@shop/pages')(5));",
          ...(manager === 'pnpm' ? { 'pnpm-workspace.yaml': "packages:\n  - 'packages/*'\n" } : {}),
        },
        manager,
      );
      try {
        const suite = await project.files(lockfiles[manager]);
        const got = async (files: SuiteFiles) => {
          const { detail } = (await stage.run(files, { spec: { testCommand: 'node read.js' }, context }))
            .outcome;
          const texts = detail.jobLog.map(({ msg }) => msg);
          const value = texts.find((text) => text.startsWith('GOT ')) ?? texts.join('\n');
          return { value, source: detail.install?.source };
        };
        expect(await got(suite)).toEqual({ value: 'GOT true one', source: 'installed' });
        const index = String(suite['packages/pages/index.js']).replace('one', 'two');
        expect(await got({ ...suite, 'packages/pages/index.js': index })).toEqual({
          value: 'GOT true two',
          source: 'cache',
        });
      } finally {
        await project.close();
      }
    });
  }

  const versions: readonly (readonly [ManagerName, pin: string, version: string])[] =
    process.env.EVERY_PACKAGE_MANAGER === 'true'
      ? [
          ['npm', 'npm@10.9.9', '10'],
          ['pnpm', 'pnpm@8.15.9', '8'],
          ['pnpm', 'pnpm@9.15.9', '9'],
          ['pnpm', 'pnpm@12.21.0', '12'],
          ['yarn4', 'yarn@3.8.7', '3'],
        ]
      : [];
  for (const [manager, pin, version] of versions) {
    it(`${pin} installs, with Node 22, and shares what it installed`, { timeout: 180_000 }, async ({
      skip,
    }) => {
      const missing = stage.missingManager(manager);
      if (missing !== undefined) skip(missing);
      const manifest = JSON.parse(files['package.json'] ?? '');
      const pinned = { ...manifest, packageManager: pin, scripts: { versions: 'node versions.cjs' } };
      const project = await developProject(
        {
          ...files,
          'package.json': JSON.stringify(pinned),
          'versions.cjs': "console.log('VERSIONS', process.version, process.env.npm_config_user_agent);",
        },
        manager,
        version,
      );
      try {
        const suite = await project.files(lockfiles[manager]);
        const name = manager.replace(/\d$/, '');
        const spec = { engineVersion: '22', testCommand: `${name} run versions && npx playwright test` };
        const cold = (await stage.run(suite, { context, spec })).outcome.detail;
        const texts = cold.jobLog.map(({ msg }) => msg).join('\n');
        expect(texts).toMatch(new RegExp(`VERSIONS v22\\.\\d+\\.\\d+ ${name}/${version}\\.`));
        expect(cold.install, texts).toMatchObject({ source: 'installed' });
        expect(cold.stats).toEqual({ expected: 1, unexpected: 1, flaky: 1, skipped: 1 });
        const changed = { ...suite, 'sums.spec.ts': `${suite['sums.spec.ts']}\n// changed` };
        const after = (await stage.run(changed, { context, spec })).outcome.detail;
        expect(after.install, JSON.stringify(after.jobLog)).toMatchObject({ source: 'cache' });
        expect(after.stats).toEqual(cold.stats);
      } finally {
        await project.close();
      }
    });
  }

  itInstalls(
    'npm',
    'a package that is not to be had is the suite’s fault, and nothing is kept',
    async (project) => {
      const suite = await project.files('package-lock.json');
      const variables = {
        ...context.variables,
        npm_config_registry: 'http://127.0.0.1:9/',
        npm_config_fetch_retries: '0',
      };
      const { outcome } = await stage.run(suite, {
        spec: { cacheHash: 'unreachable' },
        context: { ...context, variables },
      });
      expect(outcome.failure).toMatchObject({ code: 'INSTALL_FAILED', owner: 'config' });
      expect(outcome.failure?.message).toMatch(/ECONNREFUSED/);
    },
  );
});
