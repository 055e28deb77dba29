import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { programDirectory, type Sandbox } from '../sandbox.ts';
import { packageEntry, promisedPackages, type Runtime } from './runtimes.ts';

const program = join(programDirectory, 'resolve-packages.mjs');
const timeoutMs = 60_000;
const maxProblemLength = 500;

/**
 * Checks whether scripts can use the packages of a runtime: in a run folder, through its link and with a script's
 * identity, `require` and `import` must find every package of the manifest in the version of the lockfile.
 *
 * @returns one sentence for each package with a problem; empty if there are no problems.
 * @throws SandboxUnavailable if no process can be started.
 */
export async function checkRuntime(
  runtime: Runtime,
  sandbox: Sandbox,
  nodePath: string = process.execPath,
): Promise<string[]> {
  await sandbox.link('node_modules', runtime.modulesDirectory);
  await sandbox.write('resolve-packages.mjs', await readFile(program));
  const entryOf = packageEntry(runtime);
  const packages = [...promisedPackages(runtime)].map(([name, version]) => [name, version, entryOf(name)]);
  await sandbox.write('packages.json', JSON.stringify(packages));
  const problems: string[] = [];
  let isWhole = false;
  let errorText = '';
  const running = sandbox.start({
    path: nodePath,
    args: [join(sandbox.directory, 'resolve-packages.mjs')],
    environment: { LANG: 'C.UTF-8' },
    limits: {
      memoryBytes: 512 * 1024 * 1024,
      wallMs: timeoutMs,
      cpuMs: timeoutMs,
      processCount: 64,
      outputBytes: 1024 * 1024,
      diskBytes: 10 * 1024 * 1024,
    },
    onOutput: (stream, chunk) => {
      if (stream === 'stderr') errorText = (errorText + String(chunk)).slice(-maxProblemLength);
    },
    onEvent: (line) => {
      if (line === 'done') isWhole = true;
      else problems.push(line.slice(0, maxProblemLength));
    },
  });
  running.input.end();
  const ended = await running.ended;
  if (!isWhole) {
    const how = ended.signal ?? `exit code ${ended.exitCode}`;
    problems.push(
      `the check of the packages in ${join(runtime.id, 'node_modules')} did not end: ${how}; ${errorText}`,
    );
  }
  return problems;
}
