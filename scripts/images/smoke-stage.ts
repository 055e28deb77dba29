import { randomBytes } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from './engine.ts';

const root = join(import.meta.dirname, '..', '..');
const apiKey = `smoke-${randomBytes(12).toString('hex')}`;

/**
 * Options recommended by docs/how-to/install.md: a user without a passwd entry, a read-only root file system, no
 * capabilities, and no way to gain any. The group is root's, as in OpenShift.
 */
export const hardened: readonly string[] = [
  ...['--user', '123456:0', '--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
  ...[
    '--tmpfs',
    '/tmp',
    '--volume',
    '/var/spool/picket',
    '--pids-limit',
    '1024',
    '--sysctl',
    'net.ipv4.ping_group_range=0 2147483647',
  ],
];
/** Additional options for scripts. */
export const hardenedForScripts: readonly string[] = [
  ...hardened,
  ...['--tmpfs', '/var/tmp:rw,nosuid,nodev,mode=1777,size=2g', '--memory', '3g'],
  ...['--security-opt', `seccomp=${join(root, 'deploy/seccomp/picket.json')}`],
];

/** A network with a service and a target, for one image under test. */
export class SmokeStage implements AsyncDisposable {
  readonly #engine: Engine;
  readonly #prefix = `picket-smoke-${randomBytes(4).toString('hex')}`;
  readonly #containers: string[] = [];
  #serviceUrl = '';
  #targetUrl = '';

  private constructor(engine: Engine) {
    this.#engine = engine;
  }

  /**
   * @param options.serviceImage the image under test if it contains the service; otherwise the service runs from this
   * checkout.
   * @param options.nodeImage an image with Node, for programs of this checkout.
   */
  static async open(
    engine: Engine,
    options: { readonly serviceImage: string | undefined; readonly nodeImage: string },
  ): Promise<SmokeStage> {
    const stage = new SmokeStage(engine);
    try {
      await engine.ask(['network', 'create', stage.#prefix]);
      const checkout = [
        ...['--volume', `${root}:/repo:ro`],
        ...['--volume', `${await realpath(join(root, 'node_modules'))}:/node_modules:ro`],
        ...['--entrypoint', 'node'],
      ];
      await stage.start('target', options.nodeImage, ['/repo/scripts/images/smoke-target.ts'], {
        args: [...checkout, '--init', '--publish', '127.0.0.1::8000'],
      });
      const { serviceImage } = options;
      const settings = { BOOTSTRAP_API_KEY: apiKey, RATE_LIMIT_PER_MINUTE: '0', DATA_DIR: '/data' };
      const published = ['--publish', '127.0.0.1::8080'];
      if (serviceImage === undefined) {
        await stage.start('service', options.nodeImage, ['/repo/src/cli.ts', 'service'], {
          args: [...checkout, ...published, '--init'],
          environment: settings,
        });
      } else {
        await stage.start('service', serviceImage, ['service'], {
          args: [...hardened, ...published],
          environment: settings,
        });
      }
      stage.#targetUrl = `http://${await stage.address('target', 8000)}`;
      stage.#serviceUrl = `http://${await stage.address('service', 8080)}`;
      await until(
        'the service is ready',
        () => statusOf(`${stage.#serviceUrl}/-/readiness`).then(isOk),
        60_000,
      );
      return stage;
    } catch (thrown) {
      await stage.showLogs();
      await stage[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  /** Starts a container in the network, where it is known by its short name. */
  async start(
    name: string,
    image: string,
    command: readonly string[],
    options: { readonly args: readonly string[]; readonly environment?: Readonly<Record<string, string>> },
  ): Promise<void> {
    const variables = Object.entries(options.environment ?? {}).flatMap(([key, value]) => [
      '--env',
      `${key}=${value}`,
    ]);
    this.#containers.push(name);
    await this.#engine.ask([
      ...['run', '--detach', '--name', this.#full(name), '--network', this.#prefix, '--network-alias', name],
      ...[...options.args, ...variables, image, ...command],
    ]);
  }

  /** Runs an engine command for a container; `NAME` among the arguments stands for it. */
  async ask(name: string, args: readonly string[]): Promise<string> {
    return await this.#engine.ask(args.map((arg) => (arg === 'NAME' ? this.#full(name) : arg)));
  }

  /** Host and port where a container's port is published. */
  async address(name: string, port: number): Promise<string> {
    return (await this.ask(name, ['port', 'NAME', `${port}/tcp`])).split('\n')[0] ?? '';
  }

  async logs(name: string): Promise<string> {
    return (await this.#engine.try(['logs', this.#full(name)])).output;
  }

  async showLogs(): Promise<void> {
    for (const name of this.#containers)
      console.error(`--- ${name}\n${(await this.logs(name)).slice(-6000)}`);
  }

  /** Calls the API of the service. @throws Error for any response without a success status. */
  async api<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${this.#serviceUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as T;
  }

  /** How often the slow page was requested. */
  async holdCount(): Promise<number> {
    const answer = (await (await fetch(`${this.#targetUrl}/holding`)).json()) as { holdCount: number };
    return answer.holdCount;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of this.#containers)
      await this.#engine.try(['rm', '--force', '--volumes', this.#full(name)]);
    await this.#engine.try(['network', 'rm', this.#prefix]);
  }

  #full(name: string): string {
    return `${this.#prefix}-${name}`;
  }
}

const isOk = (status: number) => status === 200;

/** Status of the response from a URL; 0 without a response. */
export async function statusOf(url: string): Promise<number> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0; // refused, or closed before the response
  }
}

/** @throws Error if the condition does not become true in time. */
export async function until(
  what: string,
  condition: () => Promise<boolean>,
  timeoutMs: number,
): Promise<void> {
  const endsAtMs = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > endsAtMs)
      throw new Error(`not within ${Math.round(timeoutMs / 1000)} s: ${what}`);
    await delay(200);
  }
}
