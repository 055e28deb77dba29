import { type CommandOptions, isInstalled, mustRun, run } from './command.ts';

export const engineNames = ['docker', 'podman'] as const;
export type EngineName = (typeof engineNames)[number];

/** A program that builds and runs images, with the arguments that Docker and Podman share. */
export interface Engine {
  readonly name: EngineName;
  /** Runs an engine command that must succeed; resolves with its standard output. @throws Error with its output. */
  ask(args: readonly string[], options?: CommandOptions): Promise<string>;
  /** Runs an engine command, whatever its exit code. */
  try(args: readonly string[]): Promise<{ readonly code: number | null; readonly output: string }>;
}

/**
 * The engine to build with: Docker if its daemon responds, otherwise Podman.
 *
 * @throws Error if neither is available; the message says why.
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

/** Why an engine cannot build images: Docker 23 and newer build with a plugin. Undefined if it can. */
export async function builderProblem({ name, try: attempt }: Engine): Promise<string | undefined> {
  const client =
    name === 'docker' ? await attempt(['version', '--format', '{{.Client.Version}}']) : undefined;
  if (client === undefined || Number.parseInt(client.output, 10) < 23) return undefined;
  const { code } = await attempt(['buildx', 'version']);
  return code === 0 ? undefined : 'Docker 23 and newer build with the plugin buildx: install docker-buildx';
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
