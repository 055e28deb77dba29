import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { freePort } from '../../helpers/free-port.ts';
import { type RunningService, startServiceProcess } from '../../helpers/picket-process.ts';
import { program, programEnvironment } from '../../helpers/program.ts';
import { type HttpTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';
import { root } from './command-blocks.ts';
import { type RunningCommand, startInShell } from './shell.ts';

const accountKey = 'test-key-of-the-first-account';

/** The environment for blocks of the documents: a service, a target, and a temporary folder. */
export class DocumentStage implements AsyncDisposable {
  readonly folder: string;
  readonly service: RunningService;
  /** For parts that a block starts itself. */
  readonly servicePort: number;
  readonly healthPort: number;
  readonly #target: HttpTarget;
  readonly #locationKey: string;
  readonly #leftRunning: RunningCommand[] = [];

  private constructor(
    parts: Pick<DocumentStage, 'folder' | 'service' | 'servicePort' | 'healthPort'>,
    target: HttpTarget,
    locationKey: string,
  ) {
    this.folder = parts.folder;
    this.service = parts.service;
    this.servicePort = parts.servicePort;
    this.healthPort = parts.healthPort;
    this.#target = target;
    this.#locationKey = locationKey;
  }

  static async open(): Promise<DocumentStage> {
    expectInstalled();
    const folder = await mkdtemp(join(tmpdir(), 'picket-documents-'));
    for (const name of ['bin', 'home', 'state']) mkdirSync(join(folder, name));
    // The programs that the images and an installed package have.
    writeProgram(join(folder, 'bin', 'picket'), [program]);
    const service = await startServiceProcess();
    const location = await service.api<{ keys: { rawKey: string }[] }>('POST', '/v1/private-locations', {
      ...{ name: 'Documents', slugName: 'documents' },
    });
    const [servicePort, healthPort] = [await freePort(), await freePort()];
    return new DocumentStage(
      { folder, service, servicePort, healthPort },
      await startHttpTarget(),
      location.keys[0]?.rawKey ?? '',
    );
  }

  /**
   * Adapts a text to the service, target, keys and folders of this stage: the only place where examples are replaced.
   *
   * @param options.serviceUrl the service in the text; the stage's own when absent.
   */
  rewritten(text: string, { serviceUrl = this.service.url }: { readonly serviceUrl?: string } = {}): string {
    return text
      .replaceAll('https://picket.example.com', serviceUrl)
      .replaceAll('http://127.0.0.1:8080', serviceUrl)
      .replaceAll('https://example.com/', `${this.#target.url}/`)
      .replaceAll('pl_…', this.#locationKey)
      .replaceAll('/var/lib/picket', join(this.folder, 'state', 'service'))
      .replaceAll('PORT=8080', `PORT=${this.servicePort}`);
  }

  /** The environment of the documents' commands, in addition to their own variables. */
  environment(variables: Readonly<Record<string, string>> = {}): Record<string, string> {
    return {
      ...programEnvironment,
      PATH: `${join(this.folder, 'bin')}${delimiter}${process.env.PATH ?? ''}`,
      HOME: join(this.folder, 'home'),
      NO_COLOR: '1',
      npm_config_update_notifier: 'false',
      // Blocks that use these say so in the surrounding text.
      KEY: accountKey,
      // Ports and folders of parts that a block starts.
      AGENT_HEALTH_PORT: String(this.healthPort),
      PICKET_START_DIR: join(this.folder, 'state', 'start'),
      // Script checks have other tests, and would take too long here.
      CHECK_TYPES: 'URL,DNS,TCP',
      ...variables,
    };
  }

  /** The key of the agent's location and the URL of the service. */
  agentVariables(): Record<string, string> {
    return { API_KEY: this.#locationKey, SERVICE_URL: this.service.url };
  }

  /** The key of the account. */
  accountVariables(): Record<string, string> {
    return { API_KEY: accountKey, SERVICE_URL: this.service.url };
  }

  /** Creates a folder with copies of parts of the checkout, for blocks that write next to them. */
  copyOf(...parts: readonly string[]): string {
    const copy = mkdtempSync(join(this.folder, 'copy-'));
    for (const part of parts) cpSync(join(root, part), join(copy, part), { recursive: true });
    return copy;
  }

  /** Starts a command that runs until the stage is closed. */
  keepRunning(script: string, variables: Readonly<Record<string, string>>): RunningCommand {
    const command = startInShell(script, { cwd: root, environment: this.environment(variables) });
    this.#leftRunning.push(command);
    return command;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // All at once: one that is slow to end must not keep the others from it.
    await Promise.all(this.#leftRunning.map((command) => command.interrupt()));
    await this.service[Symbol.asyncDispose]();
    await this.#target.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}

function writeProgram(file: string, args: readonly string[]): void {
  const words = [process.execPath, ...args].map((word) => `'${word}'`).join(' ');
  writeFileSync(file, `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
}

/** `npm run` first installs missing packages, which a test must not do. */
function expectInstalled(): void {
  const stamp = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  const file = join(root, 'node_modules/.picket-setup');
  if (!existsSync(file) || readFileSync(file, 'utf8') !== stamp)
    throw new Error('the installed packages are not those of package-lock.json: start tests with npm test');
}
