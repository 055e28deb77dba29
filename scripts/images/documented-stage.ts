import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mustRun, run } from './command.ts';
import type { DocumentedStart, Surroundings } from './documented-commands.ts';
import type { Engine } from './engine.ts';
import { statusOf, until } from './smoke-stage.ts';

const root = join(import.meta.dirname, '..', '..');
const readyMs = 60_000;
const healthyMs = 40_000;
const idleStopMs = 5_000;
const resultMs = 180_000;
const imports = "import { test, expect } from '@playwright/test';";

/** A service and a target of this checkout, next to an engine that runs agents. */
export class DocumentedStage implements AsyncDisposable {
  readonly #engine: Engine;
  readonly #resources = new AsyncDisposableStack();
  readonly #apiKey = `smoke-${randomBytes(12).toString('hex')}`;
  /** Address of this host for containers. */
  #host = '127.0.0.1';
  #hasBridge = false;
  #serviceUrl = '';
  #targetUrl = '';
  #locationKey = '';
  #healthPort = 0;

  private constructor(engine: Engine) {
    this.#engine = engine;
  }

  static async open(engine: Engine): Promise<DocumentedStage> {
    const stage = new DocumentedStage(engine);
    try {
      await stage.#open();
      return stage;
    } catch (thrown) {
      await stage[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  get surroundings(): Surroundings {
    return {
      locationKey: this.#locationKey,
      serviceUrl: this.#serviceUrl,
      hostHealthPort: this.#hasBridge ? undefined : this.#healthPort,
    };
  }

  async #open(): Promise<void> {
    const gateway = await this.#engine.try([
      ...['network', 'inspect', 'bridge', '-f', '{{range .IPAM.Config}}{{.Gateway}}{{end}}'],
    ]);
    this.#hasBridge = gateway.code === 0 && /^[\d.]+$/.test(gateway.output.trim());
    if (this.#hasBridge) this.#host = gateway.output.trim();
    const target = await startTarget(this.#host);
    this.#resources.defer(() => new Promise<void>((resolve) => target.close(() => resolve())));
    this.#targetUrl = `http://${this.#host}:${(target.address() as AddressInfo).port}`;
    this.#healthPort = await freePort();
    await this.#startService();
    const location = await this.#api<{ keys: { rawKey: string }[] }>('POST', '/v1/private-locations', {
      ...{ name: 'smoke', slugName: 'smoke' },
    });
    this.#locationKey = location.keys[0]?.rawKey ?? '';
  }

  async #startService(): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'picket-smoke-'));
    this.#resources.defer(() => rm(folder, { recursive: true, force: true }));
    const port = await freePort();
    const service: ChildProcess = spawn(process.execPath, [join(root, 'src/cli.ts'), 'service'], {
      env: {
        ...process.env,
        ...{ PORT: String(port), HOST: this.#host, DATA_DIR: folder, BOOTSTRAP_API_KEY: this.#apiKey },
        ...{ RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'warn' },
      },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const ended = new Promise<void>((resolve) => service.once('exit', () => resolve()));
    this.#resources.defer(async () => {
      service.kill('SIGTERM');
      await ended;
    });
    this.#serviceUrl = `http://${this.#host}:${port}`;
    await until(
      'the service is ready',
      async () => (await statusOf(`${this.#serviceUrl}/-/readiness`)) === 200,
      readyMs,
    );
  }

  /** Runs one command as printed, and examines its agent. @returns the number of failed expectations. */
  async tryStart({ place, run: command, end, file, isFull }: DocumentedStart): Promise<number> {
    console.log(`${place}: ${command.replace(this.#locationKey, 'pl_…')}`);
    let failed = 0;
    const expect = (what: string, isAsExpected: boolean, detail = '') => {
      if (!isAsExpected) failed += 1;
      console.log(`  ${isAsExpected ? 'ok    ' : 'FAILED'} ${what}${detail === '' ? '' : `: ${detail}`}`);
    };
    const startedAtMs = performance.now();
    const sinceStart = () => `${((performance.now() - startedAtMs) / 1000).toFixed(1)} s`;
    const folder = file ? await mkdtemp(join(tmpdir(), 'picket-smoke-')) : root;
    if (file) await writeFile(join(folder, file.name), file.text);
    const id = await mustRun('sh', ['-c', command], { cwd: folder });
    try {
      const probes = `http://${await this.#addressOf(id)}`;
      const isReady = async () => (await statusOf(`${probes}/-/readiness`)) === 200;
      expect('is ready', await inTime(isReady, readyMs), sinceStart());
      const isHealthy = async () =>
        (await this.#engine.ask(['inspect', '-f', '{{.State.Health.Status}}', id])) === 'healthy';
      expect('is healthy within 40 s', await inTime(isHealthy, healthyMs), sinceStart());
      const doctor = await this.#examine(id);
      expect('picket doctor finds no problem', doctor.problems.length === 0, doctor.problems.join('; '));
      for (const note of doctor.notes) console.log(`         ${note}`);
      await this.#tryCheck('url', { request: { url: this.#targetUrl } }, expect);
      if (isFull) {
        const script = `${imports}\ntest('page', async ({ page }) => { await page.goto('${this.#targetUrl}'); await expect(page.locator('h1')).toHaveText('Hello'); });`;
        await this.#tryCheck('browser', { script }, expect);
      }
      const stopAtMs = performance.now();
      await this.#engine.ask(['stop', id]);
      const stopMs = Math.round(performance.now() - stopAtMs);
      const exit = await this.#engine.ask(['inspect', '-f', '{{.State.ExitCode}}', id]);
      expect(
        'stops within 5 s when idle, with code 0',
        stopMs <= idleStopMs && exit === '0',
        `${stopMs} ms, code ${exit}`,
      );
      if (failed > 0) console.log((await this.#engine.try(['logs', '--tail', '40', id])).output);
    } finally {
      const volumes = await this.#engine.ask(['inspect', '-f', '{{range .Mounts}}{{.Name}} {{end}}', id]);
      await this.#engine.try(['rm', '--force', '--volumes', id]);
      if (end !== undefined) await run('sh', ['-c', end], { cwd: folder });
      if (file) await rm(folder, { recursive: true });
      for (const name of volumes.split(' ').filter((one) => one !== ''))
        await this.#engine.try(['volume', 'rm', name]);
    }
    return failed;
  }

  /** The problems that `picket doctor` finds in a container, and those of the host alone. */
  async #examine(id: string): Promise<{ readonly problems: string[]; readonly notes: string[] }> {
    const { output } = await this.#engine.try(['exec', id, 'picket', 'doctor', '--json']);
    const { findings } = JSON.parse(output) as {
      readonly findings: readonly { examination: string; status: string; detail: string }[];
    };
    const lines = findings
      .filter(({ status }) => status === 'problem')
      .map(({ examination, detail }) => `${examination}: ${detail}`);
    // Engines permit pings in networks that they make, not in that of the host.
    const isOfHost = (line: string) => !this.#hasBridge && line.startsWith('icmp: ');
    return { problems: lines.filter((line) => !isOfHost(line)), notes: lines.filter(isOfHost) };
  }

  async #tryCheck(
    type: 'url' | 'browser',
    body: object,
    expect: (what: string, isAsExpected: boolean, detail?: string) => void,
  ): Promise<void> {
    const { id } = await this.#api<{ id: string }>('POST', `/v1/checks/${type}`, {
      ...{ name: type, privateLocations: ['smoke'], frequency: 1, frequencyOffset: 1, doubleCheck: false },
      ...body,
    });
    await this.#api('POST', '/v1/check-sessions/trigger', { target: { checkId: [id] } });
    type Result = { hasFailures: boolean; hasErrors: boolean; responseTime: number; failure: unknown };
    let results: Result[] = [];
    const hasResult = async () => {
      results = await this.#api<Result[]>('GET', `/v1/check-results/${id}`);
      return results.length > 0;
    };
    await inTime(hasResult, resultMs);
    await this.#api('DELETE', `/v1/checks/${id}`);
    const [result] = results;
    const isPassed = result !== undefined && !result.hasFailures && !result.hasErrors;
    const detail = isPassed
      ? `${Math.round(result.responseTime)} ms`
      : JSON.stringify(result?.failure ?? 'no result');
    expect(`a ${type} check passes`, isPassed, detail);
  }

  /** Host and port of an agent's health probes. */
  async #addressOf(id: string): Promise<string> {
    if (!this.#hasBridge) return `127.0.0.1:${this.#healthPort}`;
    return `${await this.#engine.ask(['inspect', '-f', '{{.NetworkSettings.IPAddress}}', id])}:8081`;
  }

  async #api<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${this.#serviceUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#apiKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}

async function inTime(condition: () => Promise<boolean>, timeoutMs: number): Promise<boolean> {
  return await until('', condition, timeoutMs).then(
    () => true,
    () => false,
  );
}

async function startTarget(host: string): Promise<Server> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<title>smoke</title><h1>Hello</h1>');
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return server;
}

async function freePort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}
