import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isInstalled, mustRun } from './command.ts';
import type { Engine } from './engine.ts';

/** Debian's Compose and what it imports. */
const packages = [
  ...['docker-compose', 'python3-cached-property', 'python3-certifi', 'python3-chardet', 'python3-distro'],
  ...['python3-docker', 'python3-dockerpty', 'python3-docopt', 'python3-dotenv', 'python3-idna'],
  ...[
    'python3-jsonschema',
    'python3-attr',
    'python3-packaging',
    'python3-pkg-resources',
    'python3-pyrsistent',
  ],
  ...['python3-requests', 'python3-setuptools', 'python3-six', 'python3-texttable', 'python3-urllib3'],
  ...['python3-websocket', 'python3-yaml'],
];

/** A folder for PATH in which `docker compose` works, and what it is. */
export interface ComposeProgram {
  readonly folder: string;
  readonly description: string;
}

/**
 * `docker compose` for an engine: its plugin, or else Debian's Compose (1.29, which knows no top-level `name`, so that line is
 * given as an argument), installed or unpacked into the folder.
 *
 * @throws Error when there is none.
 */
export async function composeProgram(engine: Engine, cacheFolder: string): Promise<ComposeProgram> {
  const folder = join(cacheFolder, 'compose');
  await rm(join(folder, 'bin'), { recursive: true, force: true });
  await mkdir(join(folder, 'bin'), { recursive: true });
  const { code, output } = await engine.try(['compose', 'version']);
  const isPlugin = code === 0;
  const compose = isPlugin ? '' : await debianCompose(folder);
  const lines = [
    '#!/bin/sh',
    ...(isPlugin
      ? []
      : [
          'if [ "$1" = compose ]; then',
          '  shift',
          "  sed '/^name:/d' compose.yaml > compose.without-name.yaml",
          `  exec ${compose} -p "$(sed -n 's/^name: //p' compose.yaml)" -f compose.without-name.yaml "$@"`,
          'fi',
        ]),
    `exec '${engine.program}' "$@"`,
    '',
  ];
  const file = join(folder, 'bin', 'docker');
  await writeFile(file, lines.join('\n'));
  await chmod(file, 0o755);
  return {
    folder: join(folder, 'bin'),
    description: isPlugin ? output.trim() : 'docker-compose of Debian (1.29), without the line "name"',
  };
}

/** The command that starts Debian's Compose. */
async function debianCompose(folder: string): Promise<string> {
  if (await isInstalled('docker-compose')) return 'docker-compose';
  if (!(await isInstalled('apt-get')))
    throw new Error('neither the Compose plugin nor docker-compose is there');
  const unpacked = join(folder, 'programs');
  if (!existsSync(join(unpacked, 'usr/bin/docker-compose'))) {
    const debs = join(folder, 'debs');
    await mkdir(debs, { recursive: true });
    console.log('Downloading docker-compose from Debian');
    await mustRun('apt-get', ['download', ...packages], { cwd: debs });
    for (const deb of await readdir(debs)) await mustRun('dpkg', ['-x', join(debs, deb), unpacked]);
    await rm(debs, { recursive: true });
  }
  const modules = join(unpacked, 'usr/lib/python3/dist-packages');
  return `env PYTHONPATH='${modules}' /usr/bin/python3 '${join(unpacked, 'usr/bin/docker-compose')}'`;
}
