import { type CommandOptions, isInstalled, mustRun, run } from './command.ts';
import { startUnpackedDocker } from './unpacked-docker.ts';

export const engineNames = ['docker', 'podman', 'unpacked'] as const;
export type EngineName = (typeof engineNames)[number];

/** A program that builds and runs images, with the arguments that Docker and Podman have in common. */
export interface Engine extends AsyncDisposable {
  /** One line for people. */
  readonly description: string;
  readonly program: string;
  /** Variables that lead the program to its daemon. */
  readonly environment: Readonly<Record<string, string>>;
  /** Arguments that come first in `build`. */
  readonly buildArgs: readonly string[];
  /** Runs a command of it that has to succeed; resolves with its standard output. @throws Error with its output. */
  ask(args: readonly string[], options?: CommandOptions): Promise<string>;
  /** Runs a command of it, whatever comes of it. */
  try(args: readonly string[]): Promise<{ readonly code: number | null; readonly output: string }>;
}

/**
 * The engine to build with: Docker where its daemon answers, else Podman, else a Docker Engine of our own from Debian's
 * packages, which is neither installed nor left running.
 *
 * @param options.isForBuilding whether nothing will be run: one of our own then makes no rules for packets on this machine.
 * @throws Error when there is none; the message says what was tried.
 */
export async function openEngine(
  wanted: EngineName | undefined,
  cacheFolder: string,
  options: { readonly isForBuilding?: boolean } = {},
): Promise<Engine> {
  const tried: string[] = [];
  if (wanted === undefined || wanted === 'docker') {
    if (!(await isInstalled('docker'))) tried.push('docker is not installed');
    else if ((await run('docker', ['info'])).code !== 0) tried.push('the daemon of docker does not answer');
    else return clientOf('docker', 'Docker', { DOCKER_BUILDKIT: '1' });
  }
  if (wanted === undefined || wanted === 'podman') {
    if (!(await isInstalled('podman'))) tried.push('podman is not installed');
    // Its own format has no health checks.
    else return clientOf('podman', 'Podman', {}, ['--format', 'docker']);
  }
  if (wanted === undefined || wanted === 'unpacked') {
    const { isForBuilding = false } = options;
    const docker = await startUnpackedDocker(cacheFolder, { isWithoutRules: isForBuilding });
    if (typeof docker === 'string') tried.push(docker);
    else {
      const environment = { DOCKER_HOST: docker.host, DOCKER_BUILDKIT: '1' };
      const description = "a Docker Engine unpacked from Debian's packages";
      const buildArgs = isForBuilding ? ['--network', 'host'] : [];
      const engine = clientOf(docker.client, description, environment, buildArgs);
      return { ...engine, [Symbol.asyncDispose]: () => docker.stop() };
    }
  }
  throw new Error(`No container engine: ${tried.join('; ')}`);
}

function clientOf(
  program: string,
  description: string,
  environment: Readonly<Record<string, string>>,
  buildArgs: readonly string[] = [],
): Engine {
  return {
    description,
    program,
    environment,
    buildArgs,
    ask: (args, options) => mustRun(program, args, { ...options, environment }),
    try: (args) => run(program, args, { environment }),
    [Symbol.asyncDispose]: async () => {
      // somebody else's, and it stays
    },
  };
}
