import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './command.ts';
import type { Engine } from './engine.ts';
import { makeStandInBase } from './stand-in-base.ts';

const root = join(import.meta.dirname, '..', '..');

/** The version that images are tagged with. */
export const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string;
};

export interface Image {
  readonly file: string;
  readonly tag: string;
  readonly kind: 'full' | 'uptime';
  readonly buildArgs: Readonly<Record<string, string>>;
  readonly runtimes?: readonly string[];
}

export const uptimeImage: Image = {
  file: 'Dockerfile.uptime',
  tag: `picket-uptime:${version}`,
  kind: 'uptime',
  buildArgs: {},
};

/** The base image that the Dockerfiles name. */
export function defaultBase(): string {
  const found = /^ARG BASE_IMAGE=(\S+)$/m.exec(readFileSync(join(root, 'Dockerfile'), 'utf8'))?.[1];
  if (!found) throw new Error('Dockerfile names no BASE_IMAGE');
  return found;
}

/** Pulls the base image where it is not there yet; where it cannot be pulled, makes a stand-in of that name. */
export async function provideBase(engine: Engine, base: string, cacheFolder: string): Promise<void> {
  if ((await engine.try(['image', 'inspect', base])).code === 0) return;
  const { code, output } = await engine.try(['pull', base]);
  if (code === 0) return;
  console.log(`${base} cannot be pulled: ${output.trim().split('\n').at(-1)}`);
  console.log('A stand-in for it is made on this machine: what is built is for trying, not for release');
  await makeStandInBase(engine, base, cacheFolder);
}

/** Builds an image from its Dockerfile as it is, and prints how long that took and how large it is. */
export async function buildImage(engine: Engine, image: Image, base: string): Promise<void> {
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
