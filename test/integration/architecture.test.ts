import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { cruise, type ICruiseResult } from 'dependency-cruiser';
import extractOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';
import { describe, expect, it } from 'vitest';
import { checkTypes } from '../../src/checks/index.ts';

const root = join(import.meta.dirname, '../..');

async function sourceFiles(folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

describe('files', () => {
  it('are at most 400 lines long', async () => {
    const files = [
      ...(await sourceFiles('src')),
      ...(await sourceFiles('test')),
      ...(await sourceFiles('scripts')),
    ];
    const long: string[] = [];
    for (const file of files) {
      const lines = (await readFile(join(root, file), 'utf8')).split('\n').length;
      if (lines > 401) long.push(`${file}: ${lines}`);
    }
    expect(long).toEqual([]);
  });

  it('read the environment only at the command line and through lib/env', async () => {
    const programs = ['src/cli.ts', 'src/cli/agent-only.ts', 'src/cli/health-probe.ts'];
    const readers: string[] = [];
    for (const file of await sourceFiles('src')) {
      if (file.endsWith('.test.ts') || programs.includes(file)) continue;
      if (/process\.env\b/.test(await readFile(join(root, file), 'utf8'))) readers.push(file);
    }
    expect(readers).toEqual([]);
  });

  it('name a check type in no stage of the ring: what a stage must know, the type says', async () => {
    const names = checkTypes.map(({ name }) => name).join('|');
    const pattern = new RegExp(`['"\`](${names})['"\`]`);
    const naming: string[] = [];
    for (const file of await sourceFiles('src')) {
      // Probes may speak of protocols that are called like check types.
      if (/^src\/(checks|probes)\//.test(file) || file.endsWith('.test.ts')) continue;
      if (pattern.test(await readFile(join(root, file), 'utf8'))) naming.push(file);
    }
    expect(naming).toEqual([]);
  });
});

describe('the check of import directions', () => {
  async function violations(baseDir: string): Promise<string[]> {
    const options = await extractOptions(join(root, '.dependency-cruiser.mjs'));
    const { output } = await cruise(['src'], { ...options, baseDir });
    return (output as ICruiseResult).summary.violations.map(
      ({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`,
    );
  }

  it('passes on the code as it is', async () => {
    expect(await violations(root)).toEqual([]);
  });

  it('fails when an arrow points up, be it for a type or inside a function', async () => {
    const tree = await mkdtemp(join(tmpdir(), 'picket-arrows-'));
    const write = async (file: string, text: string) => {
      await mkdir(dirname(join(tree, file)), { recursive: true });
      await writeFile(join(tree, file), text);
    };
    await write('src/checks/contract/failure.ts', 'export interface Failure { code: string }\n');
    await write(
      'src/lib/up.ts',
      "import type { Failure } from '../checks/contract/failure.ts';\nexport type Up = Failure;\n",
    );
    await write('src/service/http/app.ts', 'export const app = 1;\n');
    await write('src/agent/sideways.ts', "export const load = () => import('../service/http/app.ts');\n");
    try {
      expect((await violations(tree)).sort()).toEqual([
        'arrow-agent: src/agent/sideways.ts -> src/service/http/app.ts',
        'arrow-lib: src/lib/up.ts -> src/checks/contract/failure.ts',
      ]);
    } finally {
      await rm(tree, { recursive: true });
    }
  });
});
