/**
 * `npm start`: the whole of Picket on this machine. Starts the service, creates a private location and sample monitors
 * through its public API, starts an agent for that location, and shows results as they arrive. State is stored in
 * `.picket/`, so a second start continues where the first one stopped. Ctrl-C drains the agent, then the service.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { styleText } from 'node:util';
import { z } from 'zod';
import { StopRequests } from '../../src/lib/process/stop-requests.ts';
import { bundledProgram, keepInUse } from '../bundle/bundled-program.ts';
import { ApiClient } from './api-client.ts';
import { startBranch } from './branch.ts';
import { type Child, startChild, stopChild, untilReady } from './child.ts';
import { createLocation, hasOwnCheck, Identified, upsertChecks } from './places.ts';
import { createResultDisplay, ShownResult } from './result-display.ts';
import { sampleChecks } from './sample-checks.ts';
import { loadState, type State, saveState } from './state.ts';

const root = join(import.meta.dirname, '..', '..');
const stateDir = process.env.PICKET_START_DIR ?? join(root, '.picket');
const runningFile = join(stateDir, 'running.json');
const Running = z.object({ pid: z.number(), url: z.string() });
let isRunning = false;
/** The program, bundled; `main` sets it before it starts a part. */
let cli = '';

const Targets = z.object({
  ports: z.object({
    http: z.number(),
    https: z.number(),
    reset: z.number(),
    expired: z.number(),
    otherHost: z.number(),
  }),
  authority: z.string(),
});

const children: Child[] = [];
const stop = new AbortController();
const requests = new StopRequests();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (requests.take() === 'hurry') killAll();
    stop.abort();
  });
}
process.on('exit', killAll);

try {
  await main();
} catch (error) {
  if (!stop.signal.aborted) {
    console.error(
      `\n${styleText('red', 'Could not start:')} ${error instanceof Error ? error.message : String(error)}`,
    );
    process.exitCode = 1;
  }
}
await shutDown();

async function main(): Promise<void> {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  refuseSecond();
  console.log(styleText('bold', 'Picket'));
  const say = (text: string) => console.log(`  ${text}`);
  const state = await loadState(stateDir, { service: 8080, health: 8081 }, say);
  writeFileSync(join(stateDir, 'api-key'), state.apiKey, { mode: 0o600 });
  const program = await bundledProgram('start');
  keepInUse(program);
  cli = join(program, 'lib', 'cli.js');

  const targets = await startTargets(state);
  state.targetPorts = { ...state.targetPorts, ...targets.ports };
  const authorities = join(stateDir, 'ca');
  mkdirSync(authorities, { recursive: true, mode: 0o700 });
  writeFileSync(join(authorities, 'samples.crt'), targets.authority);
  say(`sample targets  http://127.0.0.1:${state.targetPorts.http}`);

  const baseUrl = `http://127.0.0.1:${state.servicePort}`;
  writeFileSync(runningFile, JSON.stringify({ pid: process.pid, url: baseUrl }), { mode: 0o600 });
  isRunning = true;
  await startPart('service', baseUrl, '/-/readiness', {
    PORT: String(state.servicePort),
    // Monitors and their keys must only be reachable from this machine.
    HOST: '127.0.0.1',
    DATA_DIR: join(stateDir, 'data'),
    BOOTSTRAP_API_KEY: state.apiKey,
    // Browsers resolve names below localhost to this machine.
    ARTIFACTS_URL: `http://files.localhost:${state.servicePort}`,
    // The display polls the API continuously.
    RATE_LIMIT_PER_MINUTE: '0',
    // Receivers of test alerts are on this machine.
    EGRESS_ALLOW: '127.0.0.1,::1',
  });
  say(`service         ${baseUrl}`);

  const api = new ApiClient(baseUrl, state.apiKey);
  state.location ??= await createLocation(api, { name: 'This machine', slugName: 'here' });
  const checks = await upsertChecks(api, sampleChecks(state.targetPorts), {
    place: 'here',
    known: state.samples,
  });
  remember(state, checks);
  saveState(stateDir, state);

  const spoolDir = join(stateDir, 'spool');
  mkdirSync(spoolDir, { recursive: true, mode: 0o700 });
  const healthUrl = `http://127.0.0.1:${state.healthPort}`;
  await startPart('agent', healthUrl, '/-/readiness', {
    API_KEY: state.location.key,
    SERVICE_URL: baseUrl,
    AGENT_HEALTH_PORT: String(state.healthPort),
    SPOOL_DIR: spoolDir,
    CA_CERTS_DIR: authorities,
  });
  const { branch: place, targetPorts, samples: known } = state;
  const branch = await startBranch({ api, stateDir, baseUrl, cli, http: targetPorts.http, place, known });
  if (branch) {
    children.push(branch.child);
    state.branch = branch.place;
    checks.push(...branch.checks);
    remember(state, branch.checks);
    saveState(stateDir, state);
  }
  say(`agent           ${healthUrl}/health   ${healthUrl}/metrics`);
  say(`logs and data   ${relative(process.cwd(), stateDir) || '.'}/`);
  console.log(
    `\n${styleText('bold', 'Open')}  ${styleText(['cyan', 'underline'], await loginLink(api, baseUrl))}`,
  );
  console.log(
    '      logs this machine in, once and within ten minutes; later log in with the key in api-key',
  );
  printCurlLines(baseUrl, checks[0]?.id ?? '');
  await showResults(api, checks);
}

/** A link that opens the pages without a key: the first steps until there is a check of the user's own. */
async function loginLink(api: ApiClient, baseUrl: string): Promise<string> {
  const link = await api.call('POST', '/login/links', z.object({ path: z.string() }));
  return `${baseUrl}${link.path}${(await hasOwnCheck(api)) ? '' : '?next=/start'}`;
}

function remember(state: State, samples: readonly Identified[]): void {
  state.samples = [...new Set([...state.samples, ...samples.map(({ name }) => name)])];
}

function printCurlLines(baseUrl: string, checkId: string): void {
  const keyFile = relative(process.cwd(), join(stateDir, 'api-key'));
  const curl = `curl -s -H "Authorization: Bearer $(cat ${keyFile})" ${baseUrl}`;
  console.log(
    `\nTry the API:\n  ${curl}/v1/checks\n  ${curl}/v1/check-statuses\n  ${curl}/v1/check-results/${checkId}\n`,
  );
}

/** Two instances with one folder would use the same database and ports. */
function refuseSecond(): void {
  const found = existsSync(runningFile)
    ? Running.safeParse(JSON.parse(readFileSync(runningFile, 'utf8')))
    : undefined;
  if (!found?.success || !isStart(found.data.pid)) return;
  const { pid, url } = found.data;
  throw new Error(
    `Picket runs here already: ${url}, started by process ${pid}. Stop that one with Ctrl-C, or set PICKET_START_DIR to another folder.`,
  );
}

/** Whether a process id belongs to `npm start`: ids are reused. */
function isStart(pid: number): boolean {
  try {
    process.kill(pid, 0);
    const commandLine = `/proc/${pid}/cmdline`;
    return !existsSync(commandLine) || readFileSync(commandLine, 'utf8').includes('start/main.ts');
  } catch {
    return false; // No such process.
  }
}

async function startTargets({ targetPorts }: State): Promise<z.infer<typeof Targets>> {
  const { http, https, reset, expired, otherHost } = targetPorts;
  const logFile = join(stateDir, 'targets.log');
  const child = startChild({
    name: 'sample targets',
    script: join(import.meta.dirname, 'sample-targets.ts'),
    args: [http, https, reset, expired, otherHost].map(String),
    environment: {},
    logFile,
    pipeOutput: true,
  });
  children.push(child);
  if (!child.process.stdout) throw new Error('the sample targets have no output');
  for await (const line of createInterface({ input: child.process.stdout }))
    return Targets.parse(JSON.parse(line));
  throw new Error(`the sample targets ended while starting; see ${logFile}`);
}

async function startPart(
  name: 'service' | 'agent',
  url: string,
  readyPath: string,
  environment: Readonly<Record<string, string>>,
): Promise<void> {
  const logFile = join(stateDir, `${name}.log`);
  const child = startChild({ name, script: cli, args: [name], environment, logFile });
  children.push(child);
  await untilReady(child, logFile, async () => {
    stop.signal.throwIfAborted();
    try {
      return (await fetch(`${url}${readyPath}`, { signal: AbortSignal.timeout(2000) })).ok;
    } catch {
      return false; // not listening yet
    }
  });
}

/** Shows new results of all checks until this process is stopped; fails if a part of Picket ends by itself. */
async function showResults(api: ApiClient, samples: readonly Identified[]): Promise<void> {
  const display = createResultDisplay(process.stdout, styleText('bold', 'Results'));
  const seen = new Set<string>();
  const startedAt = Date.now();
  const ended = Promise.race(
    children.map(async (child) => {
      const code = await child.ended;
      throw new Error(`the ${child.name} ended with code ${code}; see its log in ${stateDir}`);
    }),
  );
  try {
    await Promise.race([ended, poll()]);
  } finally {
    display.close();
  }

  async function poll(): Promise<void> {
    const Listed = z.array(Identified.extend({ checkType: z.string() }));
    while (!stop.signal.aborted) {
      const checks = await api
        .call('GET', '/v1/checks?limit=100', Listed)
        .catch(() => samples.map((s) => ({ ...s, checkType: '' })));
      for (const check of checks) {
        if (stop.signal.aborted) return;
        const from = Math.floor(Math.max(startedAt, Date.now() - 120_000) / 1000);
        const path = `/v1/check-results/${check.id}?resultType=ALL&limit=20&from=${from}`;
        const results = await api.call('GET', path, z.array(ShownResult));
        for (const result of results.reverse()) {
          if (seen.has(result.id)) continue;
          seen.add(result.id);
          display.show({ checkType: check.checkType, result });
        }
      }
      await delay(500, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  }
}

/** Stops the agent first, so that it can still report to the service. */
async function shutDown(): Promise<void> {
  if (children.length > 0) console.log('\nStopping: the agent finishes its runs, then the service closes.');
  const order = ['branch', 'agent', 'service', 'sample targets'];
  for (const name of order) {
    const child = children.find((candidate) => candidate.name === name);
    if (!child) continue;
    const code = await stopChild(child);
    // A child without a signal handler yet is ended by our signal.
    if (code !== 0 && child.process.signalCode !== 'SIGTERM') {
      console.error(`The ${name} ended with code ${code}; see its log in ${stateDir}.`);
      process.exitCode = 1;
    }
  }
  if (isRunning) rmSync(runningFile, { force: true });
  process.exit();
}

function killAll(): void {
  for (const { process: child } of children) {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  }
}
