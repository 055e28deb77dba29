import { type CommandOptions, isInstalled, mustRun, run } from './command.ts';

export const engineNames = ['docker', 'podman'] as const;
export type EngineName = (typeof engineNames)[number];

/** A program that builds and runs images, with the arguments that Docker and Podman have in common. */
export interface Engine {
  readonly name: EngineName;
  /** Runs a command of it that has to succeed; resolves with its standard output. @throws Error with its output. */
  ask(args: readonly string[], options?: CommandOptions): Promise<string>;
  /** Runs a command of it, whatever comes of it. */
  try(args: readonly string[]): Promise<{ readonly code: number | null; readonly output: string }>;
}

/**
 * The engine to build with: Docker where its daemon answers, else Podman.
 *
 * @throws Error when there is neither; the message says why.
 */
export async function findEngine(wanted: EngineName | undefined): Promise<Engine> {
  const missing: string[] = [];
  for (const name of engineNames) {
    if (wanted !== undefined && wanted !== name) continue;
    if (!(await isInstalled(name))) missing.push(`${name} is not installed`);
    else if ((await run(name, ['info'])).code !== 0) missing.push(`${name} is installed but does not work`);
    else return engine(name);
  }
  throw new Error(`npm run images needs Docker or Podman: ${missing.join('; ')}`);
}

function engine(name: EngineName): Engine {
  const environment = { DOCKER_BUILDKIT: '1' };
  return {
    name,
    // Podman's own image format has no health checks.
    ask: ([verb = '', ...rest], options) =>
      mustRun(
        name,
        [verb, ...(name === 'podman' && verb === 'build' ? ['--format', 'docker'] : []), ...rest],
        {
          ...options,
          environment,
        },
      ),
    try: (args) => run(name, args, { environment }),
  };
}
