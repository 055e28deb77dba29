import { chmodSync, cpSync, existsSync, lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { mustRun } from '../images/command.ts';

/** Architectures by the names of Node. */
export const architectures = ['x64', 'arm64'] as const;
export type Architecture = (typeof architectures)[number];

export const isArchitecture = (name: string): name is Architecture =>
  architectures.some((one) => one === name);

const root = join(import.meta.dirname, '../..');
/** Packages for pings over raw sockets. The addon is compiled for the machine that builds; others do without it. */
const rawSockets = ['net-ping', 'raw-socket'];

/**
 * Lays out everything that an agent needs at run time in one folder: `bin/node`, `dist/lib`, `node_modules`.
 *
 * @param options.work a folder for intermediate files.
 */
export async function layOutProgram(options: {
  readonly program: string;
  readonly architecture: Architecture;
  readonly work: string;
}): Promise<void> {
  const { program, architecture, work } = options;
  const isNative = architecture === process.arch;
  const checkout = isNative ? root : await installFor(architecture, join(work, 'checkout'));
  const node = join(checkout, 'node_modules', `node-linux-${architecture}`);
  if (!existsSync(join(node, 'bin/node'))) throw new Error(`node-linux-${architecture} is not installed`);
  await mustRun(process.execPath, [join(root, 'scripts/bundle.ts'), 'full', join(program, 'dist/lib')]);
  await mustRun(process.execPath, [
    join(root, 'scripts/bundle/modules.ts'),
    ...['--from', checkout, join(program, 'node_modules'), ...(isNative ? rawSockets : [])],
  ]);
  mkdirSync(join(program, 'bin'));
  cpSync(join(node, 'bin/node'), join(program, 'bin/node'));
  cpSync(join(node, 'LICENSE'), join(program, 'LICENSE.node'));
  for (const name of ['package.json', 'LICENSE']) cpSync(join(root, name), join(program, name));
  for (const name of ['agent-defaults.env', 'as-agent.mjs'])
    cpSync(join(root, 'deploy/debian', name), join(program, name));
  // Compiled code is of one architecture; another machine's agent compiles when it starts.
  if (isNative) {
    const compile = [join(root, 'scripts/bundle/compile.mjs'), join(program, 'dist/lib'), 'agent'];
    await mustRun(join(program, 'bin/node'), compile);
  }
  setModes(program);
}

/** Installs the locked packages of another architecture. */
async function installFor(architecture: Architecture, folder: string): Promise<string> {
  const manifests = (await mustRun('git', ['ls-files', '*package.json'], { cwd: root })).split('\n');
  for (const file of [...manifests, 'package-lock.json', '.npmrc']) {
    if (file.startsWith('runtimes/')) continue;
    cpSync(join(root, file), join(folder, file));
  }
  const platform = ['--os=linux', `--cpu=${architecture}`, '--libc=glibc'];
  await mustRun('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', ...platform], {
    cwd: folder,
  });
  return folder;
}

/** Rights that do not depend on the umask of who builds. */
export function setModes(path: string): void {
  const stat = lstatSync(path);
  if (stat.isSymbolicLink()) return;
  if (!stat.isDirectory()) {
    chmodSync(path, stat.mode & 0o100 ? 0o755 : 0o644);
    return;
  }
  chmodSync(path, 0o755);
  for (const name of readdirSync(path)) setModes(join(path, name));
}
