import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startCommands } from '../../src/console/locations/commands.ts';

const root = join(import.meta.dirname, '..', '..');
/** The documents whose commands start agents. */
const documents = ['README.md', 'docs/how-to/install.md'] as const;

/** Commands that start an agent in a container, as they are printed somewhere. */
export interface DocumentedStart {
  /** Where they are printed. */
  readonly place: string;
  /** The command, in one line: the `docker run`, or that of Compose. It prints the id of the container at the end. */
  readonly run: string;
  /** The command that ends what `run` started, besides the container. */
  readonly end?: string;
  /** A file that it reads from the folder of the command. */
  readonly file?: { readonly name: string; readonly text: string };
  /** Whether its image has all check types. */
  readonly isFull: boolean;
}

/** Where the engine runs containers, and what documents cannot know. */
export interface Surroundings {
  readonly locationKey: string;
  readonly serviceUrl: string;
  /** Port of the agent's health probes if containers share the network of the host; otherwise absent. */
  readonly hostHealthPort?: number | undefined;
}

/** The `docker run` of each document that starts an agent, with a key and an address in place of the examples. */
export function documentedStarts(surroundings: Surroundings): DocumentedStart[] {
  return documents.flatMap((file) =>
    blocksOf(readFileSync(join(root, file), 'utf8'))
      .filter((line) => line.startsWith('docker run ') && line.includes('API_KEY='))
      .map((line) => startOf(file, line, surroundings)),
  );
}

/**
 * The commands that the page "Get started" shows for Docker and Compose.
 *
 * @param compose the command of Compose on this machine; absent if it has none.
 */
export function pageStarts(
  surroundings: Surroundings,
  name: string,
  compose: 'docker compose' | 'docker-compose' | undefined,
): DocumentedStart[] {
  const { locationKey: key, serviceUrl: url } = surroundings;
  const service = { url, isLoopback: surroundings.hostHealthPort !== undefined };
  const commands = startCommands({ key, service, name });
  const docker = commands.find(({ id }) => id === 'docker');
  const file = commands.find(({ id }) => id === 'compose')?.steps.find((step) => step.file);
  const lines = (docker?.steps ?? []).flatMap(({ text }) => blocksOf(`\`\`\`sh\n${text}\n\`\`\``));
  const ofDocker = lines
    // The variant for Docker Desktop has another address of the same service.
    .filter((line) => line.startsWith('docker run ') && line.includes(`SERVICE_URL=${url}`))
    .map((line) => startOf('/start', line, surroundings));
  if (compose === undefined || !file) return ofDocker;
  const text = composeText(file.text, compose, surroundings);
  return [
    ...ofDocker,
    {
      place: '/start',
      run: `${compose} up -d >&2 && ${compose} ps -q`,
      end: `${compose} down --volumes`,
      file: { name: 'compose.yaml', text },
      isFull: false,
    },
  ];
}

/** The file as the page shows it, except for the port in the network of the host. Compose 1 does not know `name`. */
function composeText(text: string, compose: string, { hostHealthPort }: Surroundings): string {
  const own = compose === 'docker-compose' ? text.replace(/^name: .*\n/, '') : text;
  return hostHealthPort === undefined
    ? own
    : own.replace(/AGENT_HEALTH_PORT: "\d+"/, `AGENT_HEALTH_PORT: "${hostHealthPort}"`);
}

function startOf(
  place: string,
  line: string,
  { locationKey, serviceUrl, hostHealthPort }: Surroundings,
): DocumentedStart {
  const filled = line.replace('pl_…', locationKey).replace('https://picket.example.com', serviceUrl);
  return {
    place,
    run: hostHealthPort === undefined ? filled : onHostNetwork(filled, hostHealthPort),
    isFull: /\spicket:\S+$/.test(line),
  };
}

/** The network of the host permits no sysctls, and its ports may be taken. */
function onHostNetwork(line: string, port: number): string {
  return line
    .replace(/ --network host\b/, '')
    .replace(/ -e AGENT_HEALTH_PORT=\d+/, '')
    .replace(/ --sysctl \S+="[^"]*"/, '')
    .replace('docker run ', `docker run --network=host -e AGENT_HEALTH_PORT=${port} `);
}

/** The commands of a document's shell blocks, each in one line. */
function blocksOf(text: string): string[] {
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, block = '']) =>
    block
      .replaceAll(/\\\n\s*/g, '')
      .split('\n')
      .map((line) => line.trim()),
  );
}
