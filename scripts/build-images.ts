/**
 * Builds the images and tries them: `npm run images [-- OPTIONS] [IMAGE…]`, where IMAGE is `full` or `uptime` (both when none is
 * named), `dev` (full, with build tools) or `migration` (full, with every runtime on the way from 2024.09 to 2026.04).
 *
 * With Docker or Podman; without either, as root on Debian, with a Docker Engine of its own. Where the base image cannot be
 * pulled, with one made here. With `--compose` deploy/compose.yaml is then brought up as a whole, from the image `full`. Each image is then started as docs/install.md says it should be run, and has to do its work.
 */
import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { run } from './images/command.ts';
import { composeTrial } from './images/compose-trial.ts';
import { type Engine, type EngineName, engineNames, openEngine } from './images/engine.ts';
import { smokeTest } from './images/smoke-test.ts';
import { makeStandInBase } from './images/stand-in-base.ts';

const root = join(import.meta.dirname, '..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const migrationRuntimes = ['2024.09', '2025.04', '2026.04'];

interface Image {
  readonly file: string;
  readonly tag: string;
  readonly kind: 'full' | 'uptime';
  readonly buildArgs: Readonly<Record<string, string>>;
  readonly runtimes?: readonly string[];
}

const bundled = migrationRuntimes.filter((id) => existsSync(join(root, 'runtimes', id, 'package-lock.json')));
const images: Readonly<Record<string, Image>> = {
  full: { file: 'Dockerfile', tag: `picket:${version}`, kind: 'full', buildArgs: {} },
  uptime: { file: 'Dockerfile.uptime', tag: `picket-uptime:${version}`, kind: 'uptime', buildArgs: {} },
  dev: {
    file: 'Dockerfile',
    tag: `picket-dev:${version}`,
    kind: 'full',
    buildArgs: { EXTRA_PACKAGES: 'g++ gcc git make python3' },
  },
  migration: {
    file: 'Dockerfile',
    tag: `picket:${version}-migrate-${bundled.at(0)?.replace('.', '')}-${bundled.at(-1)?.replace('.', '')}`,
    kind: 'full',
    buildArgs: { RUNTIMES: [...bundled, 'package-managers'].join(' ') },
    runtimes: bundled,
  },
};

process.exitCode = await main();

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      engine: { type: 'string' },
      base: { type: 'string' },
      cache: { type: 'string', default: join(tmpdir(), 'picket-images') },
      'no-build': { type: 'boolean', default: false },
      'no-smoke': { type: 'boolean', default: false },
      compose: { type: 'boolean', default: false },
    },
  });
  const names = positionals.length > 0 ? positionals : ['full', 'uptime'];
  const unknown = names.filter((name) => !Object.hasOwn(images, name));
  if (unknown.length > 0 || !isEngineName(values.engine)) {
    console.error(
      `usage: npm run images [-- --engine ${engineNames.join('|')}] [--base IMAGE] [--cache FOLDER]`,
    );
    console.error(`       [--no-build] [--no-smoke] [--compose] [${Object.keys(images).join('] [')}]`);
    return 2;
  }
  await mkdir(values.cache, { recursive: true });
  await using engine = await openEngine(values.engine, values.cache);
  console.log(`Building with ${engine.description}`);
  const base = values.base ?? defaultBase();
  await provideBase(engine, base, values.cache);
  let failed = 0;
  for (const name of names) {
    const image = images[name];
    if (!image) continue;
    if (name === 'migration') {
      const left = migrationRuntimes.filter((id) => !bundled.includes(id));
      if (left.length > 0) console.log(`This checkout has no runtime ${left.join(', ')}: it is left out`);
    }
    if (!values['no-build']) await build(engine, image, base);
    if (values['no-smoke']) continue;
    failed += await smokeTest(engine, image, base);
  }
  if (values.compose) failed += await composeTrial(engine, base, values.cache);
  return failed === 0 ? 0 : 1;
}

function isEngineName(name: string | undefined): name is EngineName | undefined {
  return name === undefined || engineNames.some((one) => one === name);
}

/** The base image that the Dockerfiles name. */
function defaultBase(): string {
  const found = /^ARG BASE_IMAGE=(\S+)$/m.exec(readFileSync(join(root, 'Dockerfile'), 'utf8'))?.[1];
  if (!found) throw new Error('Dockerfile names no BASE_IMAGE');
  return found;
}

async function provideBase(engine: Engine, base: string, cacheFolder: string): Promise<void> {
  if ((await engine.try(['image', 'inspect', base])).code === 0) return;
  const { code, output } = await engine.try(['pull', base]);
  if (code === 0) return;
  console.log(`${base} cannot be pulled: ${output.trim().split('\n').at(-1)}`);
  console.log('A stand-in for it is made on this machine: what is built is for trying, not for release');
  await makeStandInBase(engine, base, cacheFolder);
}

async function build(engine: Engine, image: Image, base: string): Promise<void> {
  const revision = (await run('git', ['rev-parse', 'HEAD'], { cwd: root })).stdout.trim() || 'unknown';
  const args = {
    BASE_IMAGE: base,
    VERSION: version,
    REVISION: revision,
    CREATED: new Date().toISOString(),
    ...image.buildArgs,
  };
  const startedMs = performance.now();
  console.log(`${image.tag}: building ${image.file}`);
  await engine.ask([
    ...['build', ...engine.buildArgs, '-f', join(root, image.file), '-t', image.tag],
    ...Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]),
    root,
  ]);
  const bytes = Number(await engine.ask(['image', 'inspect', '-f', '{{.Size}}', image.tag]));
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  console.log(`${image.tag}: built in ${seconds} s, ${Math.round(bytes / 1e6)} MB`);
}
