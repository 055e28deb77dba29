import { spawn } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';
import { errorCodeOf } from '@picket/lib/errors.ts';

/**
 * The browser of the npm package @sparticuz/chromium (Linux on x64), for hosts whose distribution has no browser or
 * does not allow its installation. The package would unpack itself into the temporary folder at every start; this
 * module unpacks it once.
 */

/**
 * The archives that the program needs, in unpacking order (later files overwrite earlier ones): libraries, and a
 * renderer.
 */
const libraryArchives = ['al2023.tar.br', 'swiftshader.tar.br'] as const;

const libraryFiles = '*.so*';
const fontFiles = '*.ttf';

/** For machines without fonts: the few fonts of the package. */
const fontsConfiguration = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir prefix="relative">.</dir><cachedir prefix="xdg">fontconfig</cachedir></fontconfig>
`;

/** A wrapper that execs the browser, so that there is no second process to terminate. */
const launcher = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_PATH="$here/fonts"
LD_LIBRARY_PATH="$here/lib\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$here/chromium" "$@"
`;

/** Path of the unpacked browser, below the folder of the runtimes. */
export function unpackedChromiumPath(runtimesDirectory: string): string {
  return join(unpackedDirectory(runtimesDirectory), 'chromium-headless-shell');
}

function unpackedDirectory(runtimesDirectory: string): string {
  // Inside node_modules, so that npm removes it together with its package.
  return join(runtimesDirectory, 'chromium/node_modules/.unpacked');
}

/** Unpacks the installed package, and moves it into place once it is complete. */
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
  // The archives use different folder names; without them, all files end up at the same path.
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
    // tar stops reading at the end-of-archive marker and closes the pipe; its exit code decides.
    const code = errorCodeOf(error);
    if (code !== 'EPIPE' && code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  });
  if ((await ended) !== 0) throw new Error(`tar could not unpack ${archive}: ${message.trim()}`);
}
