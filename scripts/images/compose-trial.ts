import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { mustRun } from './command.ts';
import { composeProgram } from './compose-program.ts';
import type { Engine } from './engine.ts';
import { type CheckBody, fullChecks, probeChecks } from './smoke-checks.ts';
import { statusOf, until } from './smoke-stage.ts';
import { makeStandInPostgres } from './stand-in-postgres.ts';

const root = join(import.meta.dirname, '..', '..');
const serviceUrl = 'http://127.0.0.1:8080';
const resultsMs = 180_000;
/** Between two looks for results: the service answers a key so many times a minute only. */
const lookMs = 2000;

interface CheckResult {
  readonly hasFailures: boolean;
  readonly hasErrors: boolean;
  readonly failure: { readonly code: string; readonly message: string } | null;
}

/**
 * Brings deploy/compose.yaml up exactly as docs/how-to/install.md says, by running that block: PostgreSQL, the service, an agent. A
 * check of several types has to pass from end to end, and everything to be there again after all containers were removed.
 *
 * @param debian an image of Debian, for where PostgreSQL's cannot be pulled.
 * @returns how many things were not as they should be.
 */
export async function composeTrial(engine: Engine, debian: string, cacheFolder: string): Promise<number> {
  const compose = await composeProgram(engine, cacheFolder);
  console.log(`compose.yaml: tried with ${compose.description}`);
  if ((await statusOf(`${serviceUrl}/-/liveness`)) !== 0)
    throw new Error('port 8080, which compose.yaml publishes the service on, is taken');
  await provideDatabase(engine, debian, cacheFolder);
  const folder = await mkdtemp(join(tmpdir(), 'picket-compose-'));
  const deploy = join(folder, 'deploy');
  await cp(join(root, 'deploy'), deploy, { recursive: true });
  const environment = {
    ...engine.environment,
    PATH: `${compose.folder}${delimiter}${process.env.PATH ?? ''}`,
  };
  const docker = (...args: string[]) => mustRun('docker', args, { cwd: deploy, environment });
  let failedCount = 0;
  const expect = (what: string, isAsExpected: boolean, detail = '') => {
    if (!isAsExpected) failedCount += 1;
    console.log(`  ${isAsExpected ? 'ok    ' : 'FAILED'} ${what}${detail === '' ? '' : `: ${detail}`}`);
  };
  try {
    await mustRun('bash', ['-euo', 'pipefail', '-c', await composeBlock()], { cwd: folder, environment });
    expect('the commands of docs/how-to/install.md run', true);
    const key = (await readFile(join(deploy, 'secrets/api-key'), 'utf8')).trim();
    const api = <T>(method: string, path: string, body?: unknown) => callApi<T>(key, method, path, body);
    const checks = new Map<string, string>();
    for (const [type, body] of Object.entries(checkBodies())) {
      const { id } = await api<{ id: string }>('POST', `/v1/checks/${type}`, {
        ...{ name: type, privateLocations: ['office'], doubleCheck: false },
        ...body,
      });
      checks.set(type, id);
    }
    for (const [type, id] of checks) {
      const result = await firstResult(api, id);
      const failure = result?.failure
        ? `${result.failure.code}, ${result.failure.message.slice(0, 300)}`
        : '';
      const isGood = result !== undefined && !result.hasFailures && !result.hasErrors;
      expect(`a ${type} check passes`, isGood, result ? failure : 'no result came');
    }
    const count = await rowsOf(docker);
    expect('the results are in PostgreSQL', count >= checks.size, `${count} rows`);
    await docker('compose', 'stop', 'agent');
    const ending = await docker('inspect', '-f', '{{.State.ExitCode}}', await idOf(docker, 'agent'));
    expect('the agent that is stopped ends with code 0', ending === '0', ending);
    await docker('compose', 'down');
    await docker('compose', 'up', '-d');
    await until(
      'the service is ready',
      async () => (await statusOf(`${serviceUrl}/-/readiness`)) === 200,
      90_000,
    );
    const kept = await api<unknown[]>('GET', `/v1/check-results/${checks.get('url')}`);
    expect('results outlive the containers', kept.length > 0);
    const before = kept.length;
    const goesOn = async () => {
      await delay(lookMs);
      return (await api<unknown[]>('GET', `/v1/check-results/${checks.get('url')}`)).length > before;
    };
    await until('the agent goes on', goesOn, resultsMs);
    expect('the agent goes on with the key it has', true);
  } catch (thrown) {
    console.error(await docker('compose', 'logs', '--tail', '40').catch(String));
    throw thrown;
  } finally {
    await docker('compose', 'down', '--volumes').catch((thrown: unknown) => console.error(String(thrown)));
    await rm(folder, { recursive: true, force: true });
  }
  return failedCount;
}

/** What the network of compose.yaml has to aim at: the service itself. */
function checkBodies(): Readonly<Record<string, CheckBody>> {
  const site = 'http://service:8080/-/readiness';
  const { url, tcp, icmp } = probeChecks;
  const script = `import { test, expect } from '@playwright/test';
    test('page', async ({ page }) => { expect((await page.goto('${site}')).status()).toBe(200); });`;
  return {
    url: { ...url, request: { url: site } },
    tcp: { ...tcp, request: { hostname: 'database', port: 5432 } },
    icmp: { ...icmp, request: { hostname: 'service', pingCount: 3 } },
    browser: { ...fullChecks.browser, script },
  };
}

/** The commands of "Compose" in docs/how-to/install.md. */
async function composeBlock(): Promise<string> {
  const text = await readFile(join(root, 'docs/how-to/install.md'), 'utf8');
  const [, block] = /^## Compose\n+```sh\n([\s\S]*?)^```/m.exec(text) ?? [];
  if (!block) throw new Error('docs/how-to/install.md has no block of commands under "Compose"');
  return block;
}

async function provideDatabase(engine: Engine, debian: string, cacheFolder: string): Promise<void> {
  const compose = await readFile(join(root, 'deploy/compose.yaml'), 'utf8');
  const [, tag] = /image: (postgres:\S+)/.exec(compose) ?? [];
  if (!tag) throw new Error('compose.yaml names no image of PostgreSQL');
  if ((await engine.try(['image', 'inspect', tag])).code === 0) return;
  if ((await engine.try(['pull', tag])).code === 0) return;
  console.log(`${tag} cannot be pulled; one with Debian's PostgreSQL takes its place`);
  await makeStandInPostgres(engine, tag, debian, cacheFolder);
}

async function callApi<T>(key: string, method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(`${serviceUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text) as T;
}

async function firstResult(
  api: <T>(method: string, path: string) => Promise<T>,
  id: string,
): Promise<CheckResult | undefined> {
  const endsAtMs = performance.now() + resultsMs;
  while (performance.now() < endsAtMs) {
    const [result] = await api<CheckResult[]>('GET', `/v1/check-results/${id}`);
    if (result) return result;
    await delay(lookMs);
  }
  return undefined;
}

type Docker = (...args: string[]) => Promise<string>;

async function idOf(docker: Docker, name: string): Promise<string> {
  return await docker('compose', 'ps', '-q', name);
}

async function rowsOf(docker: Docker): Promise<number> {
  const query = 'select count(*) from results';
  const psql = ['psql', '-U', 'picket', '-d', 'picket', '-Atc', query];
  return Number(await docker('exec', await idOf(docker, 'database'), ...psql));
}
