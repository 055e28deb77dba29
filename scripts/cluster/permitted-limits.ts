/**
 * Before runc makes a container or starts a process in one: takes what needs CAP_SYS_RESOURCE out of what it is told, for machines that
 * lack it. Called with the arguments of runc; limits on open files and the like are then those of the engine.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface ProcessSpec {
  rlimits?: unknown;
  oomScoreAdj?: number;
}

const args = process.argv.slice(2);

/** The value of an option of runc, written in either way. */
function option(...names: readonly string[]): string | undefined {
  for (const [index, arg] of args.entries()) {
    if (names.includes(arg)) return args[index + 1];
    const name = names.find((one) => arg.startsWith(`${one}=`));
    if (name !== undefined) return arg.slice(name.length + 1);
  }
  return undefined;
}

function soften(spec: ProcessSpec | undefined): void {
  if (!spec) return;
  delete spec.rlimits;
  if ((spec.oomScoreAdj ?? 0) < 0) delete spec.oomScoreAdj;
}

const bundle = option('--bundle', '-b');
const config = bundle === undefined ? undefined : join(bundle, 'config.json');
if (config !== undefined && existsSync(config)) {
  const spec = JSON.parse(readFileSync(config, 'utf8')) as { process?: ProcessSpec };
  soften(spec.process);
  writeFileSync(config, JSON.stringify(spec));
}
const processFile = option('--process', '-p');
if (processFile !== undefined && existsSync(processFile)) {
  const spec = JSON.parse(readFileSync(processFile, 'utf8')) as ProcessSpec;
  soften(spec);
  writeFileSync(processFile, JSON.stringify(spec));
}
