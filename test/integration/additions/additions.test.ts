import { execFile } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isNight } from '../../helpers/night.ts';
import { type Addition, additionsOf, touchedPaths, withAddition } from './documented-additions.ts';

const root = join(import.meta.dirname, '../../..');
const run = promisify(execFile);
/** Copies relative links unchanged. */
const links = { recursive: true, verbatimSymlinks: true } as const;

/** Kinds of additions, with the document that describes each, and the maximum number of paths it may touch. */
const kinds = [
  { what: 'a check type', document: 'docs/how-to/adding-a-check-type.md', paths: 4 },
  {
    what: 'a resource of an account, in configuration-as-code',
    document: 'docs/how-to/adding-a-resource.md',
    paths: 4,
  },
  { what: 'a channel', document: 'docs/how-to/adding-a-channel.md', paths: 4 },
  { what: 'a page', document: 'docs/how-to/adding-a-page.md', paths: 2 },
] as const;

interface VitestReport {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

describe('adding', () => {
  it.each(kinds)('$what takes $paths paths', ({ document, paths }) => {
    const touched = touchedPaths(root, additionsOf(root, document));
    expect(touched, touched.join('\n')).toHaveLength(paths);
  });
});

/** One process, which loads the copy once; these suites start no program, so none is compiled for them. */
const suitesConfig = `
  export default {
    test: {
      include: ['test/integration/**/*.test.ts'],
      experimental: { viteModuleRunner: false, nodeLoader: false },
      pool: 'forks',
      isolate: false,
      maxWorkers: 1,
      testTimeout: 180_000,
      hookTimeout: 180_000,
      provide: { isNight: false },
    },
  };
`;

/** A copy of the code after following all documents: it passes the test suites that iterate over the registries. */
describe('a copy of the code with one of each', () => {
  let copy: string;
  beforeAll(() => {
    copy = mkdtempSync(join(tmpdir(), 'picket-additions-'));
    for (const name of [
      'src',
      'test',
      'docs',
      'scripts',
      'package.json',
      'tsconfig.json',
      'vitest.config.ts',
    ])
      cpSync(join(root, name), join(copy, name), { recursive: true });
    linkPackages(copy);
    for (const { document } of kinds) for (const addition of additionsOf(root, document)) add(addition);
  });
  afterAll(() => rmSync(copy, { recursive: true, force: true }));

  /** Links all installed packages except those of `src`, which belong to the copy itself. */
  function linkPackages(tree: string): void {
    const modules = join(tree, 'node_modules');
    mkdirSync(modules);
    for (const name of readdirSync(join(root, 'node_modules'))) {
      if (name === '@picket') cpSync(join(root, 'node_modules', name), join(modules, name), links);
      else symlinkSync(join(root, 'node_modules', name), join(modules, name));
    }
  }

  function add(addition: Addition): void {
    const file = join(copy, addition.path);
    mkdirSync(dirname(file), { recursive: true });
    const text = addition.text.replaceAll('NNNN-', '9999-');
    writeFileSync(
      file,
      addition.isAddedTo ? withAddition(readFileSync(file, 'utf8'), { ...addition, text }) : text,
    );
  }

  it('passes the conformance suites', async () => {
    const vitest = join(root, 'node_modules/vitest/vitest.mjs');
    const suites = [
      'conformance/check-types',
      'conformance/channels',
      'conformance/resources',
      'conformance/kinds',
      'console/frame',
    ].map((name) => `integration/${name}.test.ts`);
    const names = 'BANNER|ROCKET_CHAT|notes|places';
    const reportFile = join(copy, 'report.json');
    const reporter = ['--reporter=json', `--outputFile=${reportFile}`];
    writeFileSync(join(copy, 'suites.config.ts'), suitesConfig);
    const { PICKET_TEST_SQLITE: _, ...env } = process.env;
    const ended = await run(
      process.execPath,
      [vitest, 'run', '--config=suites.config.ts', ...suites, '-t', names, ...reporter],
      { cwd: copy, env },
    ).catch((thrown: { stdout: string; stderr: string }) => thrown);
    const report = JSON.parse(readFileSync(reportFile, 'utf8')) as VitestReport;
    const failures = report.testResults.flatMap(({ assertionResults }) =>
      assertionResults
        .filter(({ status }) => status === 'failed')
        .map(({ fullName, failureMessages }) => [fullName, ...failureMessages]),
    );
    expect(failures, `${ended.stdout}${ended.stderr}`).toEqual([]);
    const passed = report.testResults.flatMap(({ assertionResults }) =>
      assertionResults.filter(({ status }) => status === 'passed').map(({ fullName }) => fullName),
    );
    for (const name of ['BANNER', 'ROCKET_CHAT', 'the resource notes', 'files in notes', 'places']) {
      expect(
        passed.filter((one) => one.includes(name)),
        name,
      ).not.toEqual([]);
    }
    expect(passed.length).toBeGreaterThan(30);
  });

  if (isNight) {
    it('type-checks', async () => {
      const ended = await run(join(root, 'node_modules/.bin/tsc'), ['--noEmit'], { cwd: copy }).catch(
        (thrown: { stdout: string; stderr: string }) => thrown,
      );
      expect(`${ended.stdout}${ended.stderr}`).toBe('');
    });
  }
});
