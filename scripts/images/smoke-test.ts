import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from './engine.ts';
import { type CheckBody, fullChecks, heldBrowserCheck, probeChecks } from './smoke-checks.ts';
import { hardened, hardenedForScripts, SmokeStage, statusOf, until } from './smoke-stage.ts';

interface CheckResult {
  readonly hasFailures: boolean;
  readonly hasErrors: boolean;
  readonly failure: { readonly code: string; readonly message: string } | null;
}

const resultsMs = 180_000;
/** V8 frees the garbage of the start about 8 seconds after it. */
const settlingMs = 20_000;
const graceSeconds = 60;

/** Prints each finding, and counts those that are not as expected. */
class Findings {
  failedCount = 0;

  expect(what: string, isAsExpected: boolean, detail = ''): void {
    if (!isAsExpected) this.failedCount += 1;
    console.log(`  ${isAsExpected ? 'ok    ' : 'FAILED'} ${what}${detail === '' ? '' : `: ${detail}`}`);
  }

  note(what: string): void {
    console.log(`         ${what}`);
  }
}

/**
 * Runs an image as recommended, next to a service and a target, and has it do its work: a check of every type that it
 * supports, and a stop under load.
 *
 * @returns the number of failed expectations.
 */
export async function smokeTest(
  engine: Engine,
  image: {
    readonly tag: string;
    readonly kind: 'full' | 'uptime';
    /** Runtimes whose scripts are tried one by one, in addition to the default one. */
    readonly runtimes?: readonly string[] | undefined;
  },
  nodeImage: string,
): Promise<number> {
  console.log(`${image.tag}: smoke test`);
  const findings = new Findings();
  const isFull = image.kind === 'full';
  await using stage = await SmokeStage.open(engine, {
    serviceImage: isFull ? image.tag : undefined,
    nodeImage,
  });
  try {
    const location = await stage.api<{ keys: { rawKey: string }[] }>('POST', '/v1/private-locations', {
      name: 'smoke',
      slugName: 'smoke',
    });
    await stage.start('agent', image.tag, [], {
      args: [...(isFull ? hardenedForScripts : hardened), '--publish', '127.0.0.1::8081'],
      environment: {
        API_KEY: location.keys[0]?.rawKey ?? '',
        SERVICE_URL: 'http://service:8080',
        SPOOL_DIR: '/var/spool/picket',
        SPOOL_REQUIRED: 'true',
        SHUTDOWN_GRACE_SECONDS: String(graceSeconds - 10),
      },
    });
    const probes = `http://${await stage.address('agent', 8081)}`;
    await until('the agent is ready', async () => (await statusOf(`${probes}/-/readiness`)) === 200, 60_000);
    findings.note(`ready ${await readyMs(stage)} ms after the container's start`);
    await showConfinement(stage, findings);
    await delay(settlingMs);
    await showMemory(stage, findings, 'idle');
    await runChecks(stage, { ...probeChecks, ...(isFull ? fullChecks : {}) }, findings);
    for (const runtimeId of image.runtimes ?? []) {
      const { multistep, browser } = fullChecks;
      await runChecks(
        stage,
        { multistep: { ...multistep, runtimeId }, browser: { ...browser, runtimeId } },
        findings,
        ` on ${runtimeId}`,
      );
    }
    await showCapabilities(`${probes}/health`, isFull, findings);
    await showMemory(stage, findings, 'after the checks');
    await stopAtWork(stage, probes, isFull, findings);
    if (findings.failedCount > 0) await stage.showLogs();
  } catch (thrown) {
    await stage.showLogs();
    throw thrown;
  }
  return findings.failedCount;
}

/** From the container's start to the agent's first response from the service, according to its log. */
async function readyMs(stage: SmokeStage): Promise<number> {
  const startedAt = Date.parse(await stage.ask('agent', ['inspect', '-f', '{{.State.StartedAt}}', 'NAME']));
  const lines = (await stage.logs('agent')).split('\n').filter((line) => line.startsWith('{'));
  const connected = lines
    .map((line) => JSON.parse(line) as { readonly msg: string; readonly time: string })
    .find(({ msg }) => msg === 'connected to the service');
  return connected ? Date.parse(connected.time) - startedAt : Number.NaN;
}

/** Checks the confinement of the agent's process as the kernel reports it, and the health check of the image. */
async function showConfinement(stage: SmokeStage, findings: Findings): Promise<void> {
  const script = "process.stdout.write(require('node:fs').readFileSync('/proc/1/status', 'latin1'))";
  const status = await stage.ask('agent', ['exec', 'NAME', 'node', '-e', script]);
  const field = (name: string) => new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(status)?.[1] ?? '';
  const capabilities = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map(field);
  findings.expect('runs as another user than root', field('Uid') === '123456', field('Uid'));
  findings.expect(
    'has no capability',
    capabilities.every((set) => /^0+$/.test(set)),
  );
  findings.expect('can gain no privileges', field('NoNewPrivs') === '1' && field('Seccomp') === '2');
  const version = await stage.ask('agent', ['exec', 'NAME', 'picket', '--version']);
  findings.expect('has the command picket', /^\d+\.\d+\.\d+/.test(version), version);
  const test = await stage.ask('agent', ['inspect', '-f', '{{json .Config.Healthcheck.Test}}', 'NAME']);
  const [, ...command] = JSON.parse(test) as string[];
  await stage.ask('agent', ['exec', 'NAME', ...command]);
  findings.expect('the health check finds it well', true);
}

async function showMemory(stage: SmokeStage, findings: Findings, when: string): Promise<void> {
  const usage = await stage.ask('agent', ['stats', '--no-stream', '--format', '{{.MemUsage}}', 'NAME']);
  const processes = (await stage.ask('agent', ['top', 'NAME', '-eo', 'pid,rss,args'])).split('\n').slice(1);
  const largest = Math.max(...processes.map((line) => Number(line.trim().split(/\s+/)[1])));
  findings.note(
    `memory ${when}: ${usage.split(' / ')[0]} of the container, ${Math.round(largest / 1024)} MB resident in its largest process, ${processes.length} processes`,
  );
}

async function runChecks(
  stage: SmokeStage,
  bodies: Readonly<Record<string, CheckBody>>,
  findings: Findings,
  where = '',
): Promise<void> {
  const checks = await Promise.all(
    Object.entries(bodies).map(async ([type, body]) => {
      const { id } = await createCheck(stage, type, type, body);
      return { type, id };
    }),
  );
  for (const { type, id } of checks) {
    const result = await firstResult(stage, id).catch(() => undefined);
    const isGood = result !== undefined && !result.hasFailures && !result.hasErrors;
    const failure = result?.failure ? `${result.failure.code}, ${result.failure.message.slice(0, 500)}` : '';
    findings.expect(`a ${type} check passes${where}`, isGood, result ? failure : 'no result came');
    await stage.api('PUT', `/v1/checks/${type}/${id}`, putBody(type, { activated: false }));
  }
}

async function createCheck(stage: SmokeStage, type: string, name: string, body: CheckBody) {
  return await stage.api<{ id: string }>('POST', `/v1/checks/${type}`, {
    name,
    privateLocations: ['smoke'],
    doubleCheck: false,
    ...body,
  });
}

/** The public contract of ICMP monitors requires two fields with every change. */
function putBody(type: string, changes: CheckBody): CheckBody {
  return type === 'icmp' ? { heartbeat: {}, script: '', ...changes } : changes;
}

async function firstResult(stage: SmokeStage, id: string): Promise<CheckResult | undefined> {
  let results: CheckResult[] = [];
  const hasResult = async () => {
    results = await stage.api<CheckResult[]>('GET', `/v1/check-results/${id}`);
    return results.length > 0;
  };
  await until('a result', hasResult, resultsMs);
  return results[0];
}

async function showCapabilities(url: string, isFull: boolean, findings: Findings): Promise<void> {
  const health = (await (await fetch(url)).json()) as {
    readonly checkTypes: readonly string[];
    readonly capabilities: { readonly backends: Readonly<Record<string, string>> };
    readonly scripts: {
      readonly sandbox: { readonly mechanism: string; readonly problems: string[] } | null;
    };
  };
  findings.note(`check types: ${health.checkTypes.join(', ')}`);
  const backend = health.capabilities.backends.ICMP ?? 'none';
  findings.expect('pings through datagram sockets', /datagram/.test(backend), backend);
  if (!isFull) {
    const others = health.checkTypes.filter((type) => !(type.toLowerCase() in probeChecks));
    findings.expect('offers the uptime monitors only', others.length === 0, others.join(', '));
    return;
  }
  const { sandbox } = health.scripts;
  findings.expect('contains scripts', sandbox?.mechanism === 'user-namespaces', sandbox?.mechanism);
  for (const problem of sandbox?.problems ?? []) findings.note(problem);
}

/**
 * Sends SIGTERM while a check runs, and verifies the health endpoints, the exit code, and that the result is stored.
 */
async function stopAtWork(
  stage: SmokeStage,
  probes: string,
  isFull: boolean,
  findings: Findings,
): Promise<void> {
  let held: string | undefined;
  if (isFull) {
    held = (await createCheck(stage, 'browser', 'held', heldBrowserCheck)).id;
    await until('the browser is at work', async () => (await stage.holdCount()) > 0, resultsMs);
    await showMemory(stage, findings, 'with a browser at work');
    const zombies = await countZombies(stage);
    findings.expect('no dead process is left unwaited for', zombies === 0, String(zombies));
  }
  const termAtMs = performance.now();
  await stage.ask('agent', ['kill', '--signal', 'TERM', 'NAME']);
  const seen: { readonly atMs: number; readonly readiness: number; readonly liveness: number }[] = [];
  while ((await stage.ask('agent', ['inspect', '-f', '{{.State.Running}}', 'NAME'])) === 'true') {
    const atMs = performance.now() - termAtMs;
    const [readiness, liveness] = await Promise.all(
      ['readiness', 'liveness'].map((probe) => statusOf(`${probes}/-/${probe}`)),
    );
    seen.push({ atMs, readiness: readiness ?? 0, liveness: liveness ?? 0 });
    if (atMs > graceSeconds * 1000) throw new Error('the agent did not stop');
  }
  const took = Math.round(performance.now() - termAtMs);
  const exit = await stage.ask('agent', [
    'inspect',
    '-f',
    '{{.State.ExitCode}} {{.State.OOMKilled}}',
    'NAME',
  ]);
  findings.expect('ends by itself with code 0', exit === '0 false', `${exit} after ${took} ms`);
  const answered = seen.filter(({ liveness }) => liveness !== 0);
  findings.expect(
    'is alive and not ready while it stops',
    answered.every(({ readiness, liveness }) => liveness === 200 && (readiness === 503 || readiness === 0)),
    `${answered.length} looks, first after ${Math.round(seen[0]?.atMs ?? 0)} ms`,
  );
  if (held === undefined) return;
  findings.expect('was seen while it stopped', answered.length > 3);
  const result = await firstResult(stage, held);
  findings.expect(
    'the run under way was finished and reported',
    result?.hasFailures === false && !result.hasErrors,
    result?.failure?.message.slice(0, 500),
  );
}

async function countZombies(stage: SmokeStage): Promise<number> {
  const states = await stage.ask('agent', ['top', 'NAME', '-eo', 'pid,stat']);
  return states.split('\n').filter((line) => /\sZ/.test(line)).length;
}
