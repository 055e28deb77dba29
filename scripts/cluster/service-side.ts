import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { judge, type Violation } from '../../test/faults/checker.ts';
import {
  type CampaignCheck,
  HistoryBook,
  type LedgerRows,
  readHistories,
} from '../../test/faults/history.ts';
import { type LedgerReader, sqliteLedger } from '../../test/faults/ledger-rows.ts';
import { LoggedTarget } from '../../test/faults/logged-target.ts';
import { SupervisedProcess } from '../../test/faults/supervised-process.ts';
import { Wire } from '../../test/faults/wire.ts';

const apiKey = 'key-of-the-trial-on-a-cluster';
const location = 'cluster';
const port = 8080;
const serviceUrl = `http://127.0.0.1:${port}`;
const readyMs = 120_000;
const settleMs = 120_000;

export interface Result {
  readonly hasFailures: boolean;
  readonly hasErrors: boolean;
  readonly failure: { readonly code: string; readonly message: string } | null;
}

/**
 * What the agents of the cluster work for, on the node itself: the service on SQLite, a target that logs every request, and between agents
 * and service the line of the fault campaigns, which writes down what goes over it. What was written down is judged by their judge.
 */
export class ServiceSide implements AsyncDisposable {
  readonly target: LoggedTarget;
  readonly ledger: LedgerReader;
  readonly #book: HistoryBook;
  readonly #wire: Wire;
  readonly #service: SupervisedProcess;
  readonly #checks: CampaignCheck[] = [];
  #locationId = '';

  private constructor(folder: string) {
    this.#book = new HistoryBook(join(folder, 'histories'));
    const data = join(folder, 'service-data');
    this.ledger = sqliteLedger(data);
    this.target = new LoggedTarget(this.#book);
    this.#service = new SupervisedProcess({
      name: 'service',
      command: 'service',
      book: this.#book,
      readinessUrl: `${serviceUrl}/-/readiness`,
      environment: {
        PORT: String(port),
        HOST: '127.0.0.1',
        BOOTSTRAP_API_KEY: apiKey,
        RATE_LIMIT_PER_MINUTE: '0',
        DATA_DIR: data,
      },
    });
    this.#wire = new Wire({
      agent: 'agents',
      book: this.#book,
      pickService: () => (this.#service.isRunning ? serviceUrl : undefined),
    });
  }

  static async start(folder: string, address: string): Promise<ServiceSide> {
    await mkdir(join(folder, 'service-data'), { recursive: true });
    const side = new ServiceSide(folder);
    await side.target.listen(address);
    await side.#wire.listen(address);
    return side;
  }

  /** What agents are told as SERVICE_URL. */
  get url(): string {
    return this.#wire.url;
  }

  async up(): Promise<void> {
    this.#service.start();
    await this.#service.ready(readyMs);
  }

  async down(): Promise<void> {
    await this.#service.end('SIGTERM');
  }

  /** Makes the location. @returns its key. */
  async makeLocation(): Promise<string> {
    const made = await this.#api<{ id: string; keys: { rawKey: string }[] }>(
      'POST',
      '/v1/private-locations',
      { name: location, slugName: location },
    );
    this.#locationId = made.id;
    return made.keys[0]?.rawKey ?? '';
  }

  /** How many agents the service knows at the location. */
  async countAgents(): Promise<number> {
    const path = `/v1/private-locations/${this.#locationId}`;
    return (await this.#api<{ agentCount: number }>('GET', path)).agentCount;
  }

  /** A check of a page of the target that takes so long, which is judged in the end. */
  async watchPage(path: string, options: { readonly holdMs: number; readonly intervalMs: 10_000 | 20_000 }) {
    const from = Date.now();
    // Times are not judged: a run that an agent has made slower than a limit by being late is repeated, with another request.
    const times = { degradedResponseTime: 30_000, maxResponseTime: 30_000 };
    const { id } = await this.#api<{ id: string }>('POST', '/v1/checks/url', {
      ...{
        name: path,
        frequency: 0,
        frequencyOffset: options.intervalMs / 1000,
        privateLocations: [location],
      },
      ...{ retryStrategy: null, doubleCheck: false, ...times },
      request: { url: `${this.target.url}${path}?hold=${options.holdMs}` },
    });
    const check: CampaignCheck = {
      ...{
        id,
        path,
        intervalMs: options.intervalMs,
        locations: [location],
        isParallel: false,
        isHealthy: true,
      },
      ...{ createdWithin: [from, Date.now()], endedWithin: [0, 0] },
    };
    this.#checks.push(check);
    return check;
  }

  /** Runs a check of any type once. @returns its first result; undefined when none comes. */
  async tryOnce(type: string, request: Readonly<Record<string, unknown>>): Promise<Result | undefined> {
    const { id } = await this.#api<{ id: string }>('POST', `/v1/checks/${type}`, {
      ...{ name: type, frequency: 0, frequencyOffset: 10, privateLocations: [location], doubleCheck: false },
      request,
    });
    const endsAtMs = performance.now() + readyMs;
    let result: Result | undefined;
    while (!result && performance.now() < endsAtMs) {
      [result] = await this.#api<Result[]>('GET', `/v1/check-results/${id}`);
      if (!result) await delay(250);
    }
    // ICMP checks want two fields more, whatever is changed.
    await this.#api('PUT', `/v1/checks/${type}/${id}`, { heartbeat: {}, script: '', activated: false });
    return result;
  }

  /** Switches the checks off that are on, and waits until each of their runs has come to its end. */
  async endChecks(): Promise<LedgerRows> {
    for (const [index, check] of this.#checks.entries()) {
      if (check.endedWithin[1] !== 0) continue;
      const from = Date.now();
      await this.#api('PUT', `/v1/checks/url/${check.id}`, { activated: false });
      this.#checks[index] = { ...check, endedWithin: [from, Date.now()] };
    }
    const endsAtMs = performance.now() + settleMs;
    while ((await this.ledger.countUnfinished()) > 0 && performance.now() < endsAtMs) await delay(250);
    await this.#wire.quiet();
    return await this.ledger.readAll();
  }

  /** What the judge of the fault campaigns says of everything so far, and how often each page was asked for. */
  async judge(): Promise<{ violations: Violation[]; requests: Map<string, number>; rows: LedgerRows }> {
    const rows = await this.endChecks();
    this.#book.writeLedger(this.#checks, rows);
    const histories = readHistories(this.#book.folder);
    const requests = new Map<string, number>();
    for (const event of histories.events)
      if (event.kind === 'request') requests.set(event.path, (requests.get(event.path) ?? 0) + 1);
    return { violations: judge(histories), requests, rows };
  }

  get checks(): readonly CampaignCheck[] {
    return this.#checks;
  }

  async #api<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${serviceUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#service.end('SIGKILL');
    await this.#wire[Symbol.asyncDispose]();
    await this.target[Symbol.asyncDispose]();
  }
}
