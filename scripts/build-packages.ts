/**
 * Builds the agent as a Debian package and as a tarball, with their SHA-256: `npm run packages [-- OPTIONS]`. Both have
 * the bundle, the packages that it loads, the locked Node, and nothing else of the machine that builds: the same
 * commit makes the same bytes. Needs `dpkg-deb` and `tar`.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { toError } from '../src/lib/errors.ts';
import { mustRun } from './images/command.ts';
import { buildDebianPackage } from './packages/debian.ts';
import { type Architecture, architectures, isArchitecture, layOutProgram } from './packages/program.ts';
import { buildTarball, writeChecksums } from './packages/tarball.ts';

const root = join(import.meta.dirname, '..');
const usage = `usage: npm run packages [-- --arch ${architectures.join('|')}] [--out FOLDER] [--compress xz|gzip]`;

process.exitCode = await main();

async function main(): Promise<number> {
  const options = given();
  if (options === undefined) {
    console.error(usage);
    return 2;
  }
  if (options.isHelp) {
    console.log(usage);
    return 0;
  }
  const { architecture, folder, compression } = options;
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const madeAtSeconds = await commitSeconds();
  const work = mkdtempSync(join(tmpdir(), 'picket-packages-'));
  try {
    mkdirSync(folder, { recursive: true });
    const program = join(work, 'program');
    await layOutProgram({ program, architecture, work });
    const common = { program, architecture, version, folder, work, madeAtSeconds };
    const files = [await buildDebianPackage({ ...common, compression }), await buildTarball(common)];
    for (const { name, sizeBytes } of writeChecksums(folder, files)) {
      console.log(`${join(folder, name)}: ${Math.round(sizeBytes / 1e6)} MB`);
    }
    return 0;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function given() {
  try {
    const { values } = parseArgs({
      options: {
        help: { type: 'boolean', default: false },
        arch: { type: 'string', default: process.arch },
        out: { type: 'string', default: 'packages' },
        compress: { type: 'string', default: 'xz' },
      },
    });
    const compression = (['xz', 'gzip'] as const).find((one) => one === values.compress);
    if (!isArchitecture(values.arch) || compression === undefined) return undefined;
    const architecture: Architecture = values.arch;
    return { isHelp: values.help, architecture, folder: resolve(values.out), compression };
  } catch (thrown) {
    console.error(toError(thrown).message);
    return undefined;
  }
}

/** Times of all files in the packages: that of the commit, so that a second build makes the same bytes. */
async function commitSeconds(): Promise<number> {
  const { SOURCE_DATE_EPOCH: seconds } = process.env;
  if (seconds !== undefined) return Number(seconds);
  if (!existsSync(join(root, '.git'))) return 0;
  return Number(await mustRun('git', ['log', '-1', '--format=%ct'], { cwd: root }));
}
