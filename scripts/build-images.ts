/**
 * Builds the images and tries them: `npm run images [-- OPTIONS] [IMAGE…]`, where IMAGE is `full` or `uptime` (both when none is
 * named), `dev` (full, with build tools) or `migration` (full, with every runtime on the way from 2024.09 to 2026.04).
 *
 * With Docker or Podman; without either, as root on Debian, with a Docker Engine of its own. Where the base image cannot be
 * pulled, with one made here. With `--compose` deploy/compose.yaml is then brought up as a whole, from the image `full`. Each image is then started as docs/how-to/install.md says it should be run, and has to do its work.
 */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { composeTrial } from './images/compose-trial.ts';
import { type EngineName, engineNames, openEngine } from './images/engine.ts';
import {
  buildImage,
  defaultBase,
  type Image,
  provideBase,
  uptimeImage,
  version,
} from './images/image-build.ts';
import { smokeTest } from './images/smoke-test.ts';

const root = join(import.meta.dirname, '..');
const migrationRuntimes = ['2024.09', '2025.04', '2026.04'];

const bundled = migrationRuntimes.filter((id) => existsSync(join(root, 'runtimes', id, 'package-lock.json')));
const images: Readonly<Record<string, Image>> = {
  full: { file: 'Dockerfile', tag: `picket:${version}`, kind: 'full', buildArgs: {} },
  uptime: uptimeImage,
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
    if (!values['no-build']) await buildImage(engine, image, base);
    if (values['no-smoke']) continue;
    failed += await smokeTest(engine, image, base);
  }
  if (values.compose) failed += await composeTrial(engine, base, values.cache);
  return failed === 0 ? 0 : 1;
}

function isEngineName(name: string | undefined): name is EngineName | undefined {
  return name === undefined || engineNames.some((one) => one === name);
}
