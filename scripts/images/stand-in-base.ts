import { existsSync } from 'node:fs';
import { copyFile, cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isInstalled, mustRun } from './command.ts';
import type { Engine } from './engine.ts';

/**
 * Where the base image cannot be pulled, one is made on this machine from Debian's packages and the Node that runs this, and given
 * the base image's own name, so that the Dockerfiles are built as they are. What it lacks of the real one (yarn, corepack,
 * a few packages of Debian) no Dockerfile uses. The machine's certificates go along for npm: registries may be reached through a proxy
 * that has one of its own. They are in this base and in nothing that is built from it but the build stages and the full image.
 *
 * @throws Error when this machine has nothing to make it from.
 */
export async function makeStandInBase(engine: Engine, tag: string, cacheFolder: string): Promise<void> {
  const tar = join(cacheFolder, 'debian-bookworm.tar');
  if (!existsSync(tar)) await makeDebian(tar);
  const debian = 'picket-stand-in/debian:bookworm';
  await engine.ask(['import', tar, debian]);
  const context = join(cacheFolder, 'stand-in');
  await rm(context, { recursive: true, force: true });
  await mkdir(context, { recursive: true });
  await copyFile(process.execPath, join(context, 'node'));
  await cp(npmFolder(), join(context, 'npm'), { recursive: true, dereference: true });
  await copyFile('/etc/ssl/certs/ca-certificates.crt', join(context, 'ca.crt'));
  await writeFile(join(context, 'npmrc'), 'cafile=/usr/local/share/stand-in-ca.crt\nupdate-notifier=false\n');
  await writeFile(
    join(context, 'Dockerfile'),
    [
      `FROM ${debian}`,
      'COPY --chmod=755 node /usr/local/bin/node',
      'COPY npm /usr/local/lib/node_modules/npm',
      'COPY ca.crt /usr/local/share/stand-in-ca.crt',
      'COPY npmrc /usr/local/etc/npmrc',
      'RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm',
      'RUN ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx',
      '',
    ].join('\n'),
  );
  await engine.ask(['build', ...engine.buildArgs, '-t', tag, context]);
}

async function makeDebian(tar: string): Promise<void> {
  if (!(await isInstalled('mmdebstrap'))) {
    throw new Error(
      'The base image cannot be pulled; to make one here, install mmdebstrap (Debian, as root)',
    );
  }
  console.log('Making a base image from Debian packages (once)');
  const without = ['/usr/share/doc/*', '/usr/share/man/*', '/usr/share/locale/*'];
  const partial = `${tar}.partial`;
  await mustRun('mmdebstrap', [
    ...['--variant=minbase', '--format=tar', '--include=ca-certificates'],
    ...without.map((path) => `--dpkgopt=path-exclude=${path}`),
    ...['bookworm', partial],
  ]);
  await mustRun('mv', [partial, tar]);
}

function npmFolder(): string {
  const started = process.env.npm_execpath;
  const folders = [
    ...(started?.endsWith('npm-cli.js') ? [dirname(dirname(started))] : []),
    join(dirname(dirname(process.execPath)), 'lib/node_modules/npm'),
    '/usr/lib/node_modules/npm',
    '/usr/local/lib/node_modules/npm',
    '/usr/share/nodejs/npm',
  ];
  const found = folders.find((folder) => existsSync(join(folder, 'bin/npm-cli.js')));
  if (!found) throw new Error(`No npm for the base image in ${folders.join(', ')}`);
  return found;
}
