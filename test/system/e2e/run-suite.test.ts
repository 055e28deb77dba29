import { existsSync, readdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { readRuntimes } from '../../../src/sandbox/runtimes/runtimes.ts';
import { isNight } from '../../helpers/night.ts';
import { startPicket } from '../../helpers/picket-process.ts';
import { runtimesDirectory } from '../../helpers/scripts/script-stage.ts';
import { packFiles } from '../../helpers/scripts/suite-bundle.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';

const imports = "import { test, expect } from '@playwright/test';\n";

describe('picket run of a suite', () => {
  const folder = temporaryFolder();
  let missing: string | undefined;
  let modules = '';

  beforeAll(async () => {
    const runtimes = await readRuntimes(runtimesDirectory);
    modules = runtimes.find(runtimes.ids[0] ?? '')?.modulesDirectory ?? '';
    if (modules === '') missing = 'no runtime is installed: npm run runtimes:install';
    else if (!existsSync(join(runtimesDirectory, 'package-managers/node_modules')))
      missing = 'no package managers are installed: npm run runtimes:install package-managers';
  });
  afterAll(() => folder.remove());

  async function run(codeBundlePath: string) {
    const file = join(folder.path, 'check.json');
    const check = {
      checkType: 'PLAYWRIGHT',
      name: 'a suite',
      codeBundlePath,
      browsers: [],
      installCommand: `ln -s '${modules}' node_modules`,
    };
    await writeFile(file, JSON.stringify(check));
    const picket = startPicket(['run', file, '--json', '--artifacts', join(folder.path, 'kept')], {});
    const { code } = await picket.ended;
    return { code, output: picket.output() };
  }

  it('packs the folder in the file, and runs it', { timeout: 240_000 }, async (context) => {
    if (missing) return context.skip(missing);
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('picket-suite-'));
    await mkdir(join(folder.path, 'project/tests'), { recursive: true });
    await mkdir(join(folder.path, 'project/node_modules'), { recursive: true });
    await writeFile(join(folder.path, 'project/node_modules/rubbish'), 'not to be packed');
    await writeFile(
      join(folder.path, 'project/tests/a.spec.ts'),
      `${imports}test('adds', () => expect(1 + 1).toBe(2)); test('fails', () => expect(1).toBe(2));`,
    );
    const { code, output } = await run('./project');
    const { verdict, detail } = JSON.parse(output.slice(output.indexOf('{')));
    expect({ code, verdict }, output).toEqual({ code: 1, verdict: 'FAILED' });
    expect(detail.stats).toMatchObject({ expected: 1, unexpected: 1 });
    expect(readdirSync(join(folder.path, 'kept'))).toContain('report.json');
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('picket-suite-'))).toEqual(before);
  });

  const itAtNight = isNight ? it : () => undefined;
  itAtNight('accepts an archive unchanged', { timeout: 240_000 }, async (context: TestContext) => {
    if (missing) return context.skip(missing);
    const bytes = await packFiles({ 'a.spec.ts': `${imports}test('adds', () => expect(1 + 1).toBe(2));` });
    await writeFile(join(folder.path, 'suite.tar.gz'), bytes);
    const { code, output } = await run('suite.tar.gz');
    expect(code, output).toBe(0);
  });

  it('explains what to do about the key of an uploaded archive, and about a missing folder', async () => {
    expect(await run(`${'0'.repeat(64)}-12`)).toMatchObject({
      code: 2,
      output: expect.stringContaining('name the folder of the suite or its tar.gz'),
    });
    expect(await run('nowhere')).toMatchObject({
      code: 2,
      output: expect.stringContaining('codeBundlePath: ENOENT'),
    });
  });
});
