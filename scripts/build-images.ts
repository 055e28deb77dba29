/**
 * Builds the images and runs smoke tests on them: `npm run images [-- OPTIONS] [IMAGE…]`, where IMAGE is `full` or
 * `uptime` (both by default), `dev` (full, with build tools) or `migration` (full, with every runtime from 2024.09 to
 * 2026.04).
 *
 * Needs Docker or Podman. Each image is started as docs/how-to/install.md recommends, and must do its work.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { toError } from '../src/lib/errors.ts';
import { run } from './images/command.ts';
import { builderProblem, type Engine, type EngineName, engineNames, findEngine } from './images/engine.ts';
import { smokeTest } from './images/smoke-test.ts';

interface Image {
  readonly file: string;
  readonly tag: string;
  readonly kind: 'full' | 'uptime';
  readonly buildArgs?: Readonly<Record<string, string>>;
  readonly runtimes?: readonly string[];
}

const root = join(import.meta.dirname, '..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const migrationRuntimes = ['2024.09', '2025.04', '2026.04'];
const bundled = migrationRuntimes.filter((id) => existsSync(join(root, 'runtimes', id, 'package-lock.json')));
const images: Readonly<Record<string, Image>> = {
  full: { file: 'Dockerfile', tag: `picket:${version}`, kind: 'full' },
  uptime: { file: 'Dockerfile.uptime', tag: `picket-uptime:${version}`, kind: 'uptime' },
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

const usage = `usage: npm run images [-- --engine ${engineNames.join('|')}] [--base IMAGE] [--network host]
       [--secret id=NAME,src=FILE]… [--no-build] [--no-smoke] [${Object.keys(images).join('] [')}]`;

process.exitCode = await main();

function given() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        help: { type: 'boolean', default: false },
        engine: { type: 'string' },
        base: { type: 'string', default: defaultBase() },
        network: { type: 'string' },
        secret: { type: 'string', multiple: true, default: [] },
        'no-build': { type: 'boolean', default: false },
        'no-smoke': { type: 'boolean', default: false },
      },
    });
  } catch (thrown) {
    console.error(toError(thrown).message);
    return undefined;
  }
}

async function main(): Promise<number> {
  const args = given();
  if (args === undefined || args.values.help) {
    (args ? console.log : console.error)(usage);
    return args ? 0 : 2;
  }
  const { values, positionals } = args;
  const names = positionals.length > 0 ? positionals : ['full', 'uptime'];
  const unknown = names.filter((name) => !Object.hasOwn(images, name));
  const isBridged = values.network === undefined;
  const isNetworkKnown = isBridged || values.network === 'host';
  if (unknown.length > 0 || !isNetworkKnown || !isEngineName(values.engine)) {
    console.error(usage);
    return 2;
  }
  const engine = await findEngine(values.engine);
  const problem = values['no-build'] ? undefined : await builderProblem(engine);
  if (problem !== undefined) {
    console.error(problem);
    return 1;
  }
  console.log(`Building with ${engine.name}`);
  let failed = 0;
  for (const name of names) {
    const image = images[name];
    if (!image) continue;
    if (name === 'migration') {
      const absent = migrationRuntimes.filter((id) => !bundled.includes(id));
      if (absent.length > 0) console.log(`This checkout has no runtime ${absent.join(', ')}: it is left out`);
    }
    if (!values['no-build']) await buildImage(engine, image, values);
    if (!values['no-smoke'] && isBridged) failed += await smokeTest(engine, image, values.base);
  }
  if (!values['no-smoke'] && !isBridged) {
    console.log(
      'The smoke test needs a network of its own. Without one: node scripts/setup.mjs scripts/images/smoke.ts',
    );
  }
  return failed === 0 ? 0 : 1;
}

/** Builds an image from its unmodified Dockerfile, and prints the duration and the size. */
async function buildImage(
  engine: Engine,
  image: Image,
  {
    base,
    network,
    secret,
  }: { readonly base: string; readonly network?: string; readonly secret: readonly string[] },
): Promise<void> {
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
    ...['build', '-f', join(root, image.file), '-t', image.tag],
    ...(network === undefined ? [] : ['--network', network]),
    ...secret.flatMap((one) => ['--secret', one]),
    ...Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]),
    root,
  ]);
  const bytes = Number(await engine.ask(['image', 'inspect', '-f', '{{.Size}}', image.tag]));
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  console.log(`${image.tag}: built in ${seconds} s, ${Math.round(bytes / 1e6)} MB`);
}

/** The base image that the Dockerfiles name. */
function defaultBase(): string {
  const found = /^ARG BASE_IMAGE=(\S+)$/m.exec(readFileSync(join(root, 'Dockerfile'), 'utf8'))?.[1];
  if (!found) throw new Error('Dockerfile names no BASE_IMAGE');
  return found;
}

function isEngineName(name: string | undefined): name is EngineName | undefined {
  return name === undefined || engineNames.some((one) => one === name);
}
