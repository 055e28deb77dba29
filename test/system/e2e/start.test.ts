import { execFile, spawn, spawnSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { fitted } from '../../../scripts/start/result-display.ts';

const run = promisify(execFile);

describe('setup', () => {
  it('installs once if two commands start at once, and after one that died', async () => {
    const root = await mkdtemp(join(tmpdir(), 'picket-setup-'));
    try {
      await mkdir(join(root, 'scripts'));
      await mkdir(join(root, 'bin'));
      const setup = join(root, 'scripts/setup.mjs');
      await copyFile(join(import.meta.dirname, '../../../scripts/setup.mjs'), setup);
      await writeFile(join(root, 'package-lock.json'), '{}');
      await writeFile(join(root, 'hello.mjs'), 'console.log("hello");');
      // Two at once would find each other's folder: mkdir fails then.
      const npm = `#!/bin/sh
if [ "$1" = ci ]; then echo >> installs; mkdir installing || exit 1; sleep 0.5; rmdir installing; mkdir -p node_modules/.bin; ln -s "${process.execPath}" node_modules/.bin/node; fi
`;
      await writeFile(join(root, 'bin/npm'), npm, { mode: 0o755 });
      const { pid } = spawnSync('true');
      await writeFile(join(root, '.picket-setup.lock'), String(pid));
      const env = { PATH: `${join(root, 'bin')}:${process.env.PATH}`, HOME: root };
      const commands = Array.from({ length: 3 }, () => run(process.execPath, [setup, 'hello.mjs'], { env }));
      for (const { stdout } of await Promise.all(commands)) expect(stdout).toBe('hello\n');
      expect(await readFile(join(root, 'installs'), 'utf8')).toBe('\n');
      expect(await readdir(root)).not.toContain('.picket-setup.lock');
    } finally {
      await rm(root, { recursive: true });
    }
  });

  it('uses the locked Node if npm 10 omitted its link', async () => {
    const root = await mkdtemp(join(tmpdir(), 'picket-setup-'));
    try {
      await mkdir(join(root, 'scripts'));
      await mkdir(join(root, 'bin'));
      await copyFile(
        join(import.meta.dirname, '../../../scripts/setup.mjs'),
        join(root, 'scripts/setup.mjs'),
      );
      await writeFile(join(root, 'package-lock.json'), '{}');
      await writeFile(join(root, 'hello.mjs'), 'console.log(`hello from ${process.argv0}`);');
      const name = `node-${process.platform}-${process.arch}`;
      // Like npm 10: the package is installed, but .bin has no node.
      const npm = `#!/bin/sh\nif [ "$1" = ci ]; then mkdir -p node_modules/${name}/bin node_modules/.bin; ln -s "${process.execPath}" node_modules/${name}/bin/node; fi\n`;
      await writeFile(join(root, 'bin/npm'), npm, { mode: 0o755 });
      const environment = { PATH: `${join(root, 'bin')}:${process.env.PATH}`, HOME: root };
      const { stdout, stderr } = await run(process.execPath, [join(root, 'scripts/setup.mjs'), 'hello.mjs'], {
        env: environment,
      });
      expect(stdout).toContain('hello');
      expect(stderr).toContain('Compiling raw-socket');
      expect(await readlink(join(root, 'node_modules/.bin/node'))).toBe(`../${name}/bin/node`);
    } finally {
      await rm(root, { recursive: true });
    }
  });
});

it.each(['faults', 'build-images'])('scripts/%s.ts explains its usage', async (script) => {
  const path = join(import.meta.dirname, `../../../scripts/${script}.ts`);
  expect((await run(process.execPath, [path, '--help'])).stdout).toMatch(/^usage: npm run /);
  const refused = await run(process.execPath, [path, '--nothing']).catch((error) => error);
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.stderr).toMatch(/'--nothing'[\s\S]*usage: npm run /);
  expect(refused.stderr).not.toContain('    at ');
});

it('npm start names the instance that runs in the same folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'picket-start-'));
  // A process that looks like one of npm start.
  const running = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', 'start/main.ts']);
  try {
    const url = 'http://127.0.0.1:18080';
    await writeFile(join(folder, 'running.json'), JSON.stringify({ pid: running.pid, url }));
    const main = join(import.meta.dirname, '../../../scripts/start/main.ts');
    const env = { ...process.env, PICKET_START_DIR: folder };
    const second = await run(process.execPath, [main], { env }).catch((error) => error);
    expect(second).toMatchObject({ code: 1 });
    expect(second.stderr).toContain(`Picket runs here already: ${url}, started by process ${running.pid}`);
    expect(await readdir(folder)).toEqual(['running.json']);
  } finally {
    running.kill('SIGKILL');
    await rm(folder, { recursive: true });
  }
});

describe('the table of npm start', () => {
  const rows = [
    ['check', 'type', 'location', 'verdict', 'time', 'phases or reason', 'late'],
    [
      'A shop with a long name',
      'BROWSER',
      'here',
      'DEGRADED',
      '1234.5 ms',
      'dns 1.0  tcp 2.0  tls 3.0  wait 4.0',
      '12 ms',
    ],
    ['Short', 'URL', 'here', 'FAILED', '1.5 ms', `CONNECTION_REFUSED: ${'x'.repeat(60)}`, '2 ms'],
  ];
  it.each([40, 60, 80, 100, 140, 300])('fits %i columns, with the verdict', (width) => {
    const { columns, rows: shown } = fitted(rows, width);
    const widths = columns.map((_column, index) => Math.max(...shown.map((row) => row[index]?.length ?? 0)));
    expect(widths.reduce((sum, one) => sum + one + 3, 1)).toBeLessThanOrEqual(width);
    expect(columns).toContain(3);
    if (width >= 300) expect(shown).toEqual(rows);
  });
});
