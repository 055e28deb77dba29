import { createHash } from 'node:crypto';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mustRun } from '../images/command.ts';
import type { PackageOptions } from './debian.ts';
import { setModes } from './program.ts';

const root = join(import.meta.dirname, '../..');

/**
 * Builds `picket-agent-VERSION-linux-ARCHITECTURE.tar.gz`, for machines without dpkg: the program, a script that starts
 * it, and the unit and settings to adapt. Resolves with its name.
 */
export async function buildTarball(options: PackageOptions): Promise<string> {
  const { architecture, version, folder, work, program, madeAtSeconds } = options;
  const base = `picket-agent-${version}-linux-${architecture}`;
  const tree = join(work, base);
  cpSync(program, tree, { recursive: true, verbatimSymlinks: true });
  writeFileSync(join(tree, 'picket'), starter, { mode: 0o755 });
  for (const name of ['README', 'agent.env', 'picket-agent.service'])
    cpSync(join(root, 'deploy/debian', name), join(tree, name));
  setModes(tree);
  const name = `${base}.tar.gz`;
  await mustRun('tar', [
    ...['--create', '--file', join(folder, name), '--directory', work, '--sort=name', '--format=gnu'],
    ...[`--mtime=@${madeAtSeconds}`, '--owner=0', '--group=0', '--numeric-owner'],
    // Without the name and the time of the archive in its header.
    ...['--use-compress-program=gzip -n', base],
  ]);
  return name;
}

const starter = `#!/bin/sh
# Runs a command of Picket from the folder of this file: ./picket agent
folder=$(dirname "$(readlink -f "$0")")
exec "$folder/bin/node" "$folder/dist/lib/cli.js" "$@"
`;

/** Writes a file for `sha256sum --check` next to each file. */
export function writeChecksums(
  folder: string,
  names: readonly string[],
): readonly { readonly name: string; readonly sizeBytes: number }[] {
  return names.map((name) => {
    const content = readFileSync(join(folder, name));
    const hash = createHash('sha256').update(content).digest('hex');
    writeFileSync(join(folder, `${name}.sha256`), `${hash}  ${name}\n`);
    return { name, sizeBytes: content.length };
  });
}
