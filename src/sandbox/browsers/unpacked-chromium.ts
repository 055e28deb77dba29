import { spawn } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';
import { errorCodeOf } from '@picket/lib/errors.ts';

/**
 * The browser of the npm package @sparticuz/chromium (Linux on x64), for hosts whose distribution has none or
 * where it cannot be installed. The package would unpack itself into the folder for temporary files at every
 * start; here it is done once.
 */

/**
 * What the program needs, in the order in which archives are unpacked over each other: libraries, and a
 * renderer.
 */
const libraryArchives = ['al2023.tar.br', 'swiftshader.tar.br'] as const;

const libraryFiles = '*.so*';
const fontFiles = '*.ttf';

/** For machines without any fonts: the few of the package. */
const fontsConfiguration = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir prefix="relative">.</dir><cachedir prefix="xdg">fontconfig</cachedir></fontconfig>
`;

/**
 * A program that stays the same process when it becomes the browser, so that there is nothing more to end.
 */
const launcher = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_PATH="$here/fonts"
LD_LIBRARY_PATH="$here/lib\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$here/chromium" "$@"
`;

/** Where the unpacked browser lies, below the folder that holds the runtimes. */
export function unpackedChromiumPath(runtimesDirectory: string): string {
  return join(unpackedDirectory(runtimesDirectory), 'chromium-headless-shell');
}

function unpackedDirectory(runtimesDirectory: string): string {
  // npm removes it along with the package it was made from.
  return join(runtimesDirectory, 'chromium/node_modules/.unpacked');
}

/** Unpacks the installed package, into place only once it is whole. */
export async function unpackChromium(runtimesDirectory: string): Promise<void> {
  const source = join(runtimesDirectory, 'chromium/node_modules/@sparticuz/chromium/bin');
  const directory = unpackedDirectory(runtimesDirectory);
  const fresh = `${directory}.new`;
  await rm(fresh, { recursive: true, force: true });
  for (const folder of ['lib', 'fonts']) await mkdir(join(fresh, folder), { recursive: true });
  await pipeline(
    createReadStream(join(source, 'chromium.br')),
    createBrotliDecompress(),
    createWriteStream(join(fresh, 'chromium'), { mode: 0o755 }),
  );
  for (const archive of libraryArchives) await untar(join(source, archive), join(fresh, 'lib'), libraryFiles);
  await untar(join(source, 'fonts.tar.br'), join(fresh, 'fonts'), fontFiles);
  await writeFile(join(fresh, 'fonts/fonts.conf'), fontsConfiguration);
  await writeFile(join(fresh, 'chromium-headless-shell'), launcher);
  await chmod(join(fresh, 'chromium-headless-shell'), 0o755);
  await rm(directory, { recursive: true, force: true });
  await rename(fresh, directory);
}

async function untar(archive: string, directory: string, files: string): Promise<void> {
  // What is wanted lies in folders of different names; without them it is in the same place for all.
  const tar = spawn('tar', ['-x', '-C', directory, '--transform', 's,^.*/,,', '--wildcards', files], {
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let message = '';
  tar.stderr.on('data', (chunk: Buffer) => {
    message += chunk;
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    tar.on('error', reject);
    tar.on('close', resolve);
  });
  await pipeline(createReadStream(archive), createBrotliDecompress(), tar.stdin).catch((error: unknown) => {
    // tar stops reading at the mark of the archive's end, and what lies behind it has nowhere to go; how it
    // ends tells the rest.
    const code = errorCodeOf(error);
    if (code !== 'EPIPE' && code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  });
  if ((await ended) !== 0) throw new Error(`tar could not unpack ${archive}: ${message.trim()}`);
}
