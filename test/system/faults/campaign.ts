import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../helpers/free-port.ts';
import { type PostgresServer, startPostgres } from '../../helpers/service/postgres.ts';
import { judge, type Violation } from './checker.ts';
import { type PlannedFault, planFaults } from './fault-plan.ts';
import { type Figures, figuresOf } from './figures.ts';
import { type CampaignCheck, HistoryBook, nowMs, readHistories, type ShownCounts } from './history.ts';
import { type LedgerReader, postgresLedger, sqliteLedger } from './ledger-rows.ts';
import { LoggedTarget } from './logged-target.ts';
import { unleash, type Victim } from './nemesis.ts';
import { SupervisedProcess } from './supervised-process.ts';
import { readSurfaces } from './surfaces.ts';
import { Wire } from './wire.ts';

const apiKey = 'key-of-the-fault-campaigns';
const statusPage = 'campaign';
const allHours = {
  timeZone: 'Europe/Berlin',
  windows: [{ weekdays: ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN'], from: '00:00', to: '24:00' }],
};
/** Slots of a schedule are at least so far apart: a shorter campaign might have none of a check. */
const scheduleMs = 30_000;
const everyHalfMinute = { onCalendar: '*:*:0/30', timeZone: 'Europe/Berlin' };
const usualAgents = { 'agent-1': 'north', 'agent-2': 'north', 'agent-3': 'south' };
/** Many processes start at once, on busy machines. */
const readyTimeoutMs = 180_000;
/** Maximum time for leases, retries and queues to drain once all faults are over. */
const settleTimeoutMs = 120_000;

export interface CampaignOptions {
  readonly seed: number;
  /** Number of consecutive seeds from that one on, run on the same stage; 1 when absent. */
  readonly rounds?: number;
  readonly engine: 'sqlite' | 'postgres';
  /** Duration of the nemesis in milliseconds, for each seed. */
  readonly durationMs: number;
  readonly checkCount: number;
  /** Folder of the histories; a new one when absent. */
  readonly folder?: string;
  /** The planned faults; derived from the seed when absent. */
  readonly plan?: readonly PlannedFault[];
  /** A custom nemesis instead of a plan: resolves when everything is repaired. */
  readonly nemesis?: (victims: ReadonlyMap<string, Victim>) => Promise<void>;
  /** The location of each agent; two at one location and one at another when absent. */
  readonly agents?: Readonly<Record<string, string>>;
  /** Programs of other versions to use instead of this build. */
  readonly programs?: { readonly agent?: string | undefined; readonly service?: string | undefined };
  readonly progress?: (text: string) => void;
  /** Aborts the campaign; it then rejects, after it has ended everything it started. */
  readonly signal?: AbortSignal;
}

export interface CampaignReport {
  readonly folder: string;
  readonly violations: readonly Violation[];
  readonly figures: Figures;
}

/**
 * Runs one campaign: real service processes (one on SQLite, two on PostgreSQL), three real agents at two locations,
 * checks every ten seconds, and a seeded nemesis. At the end everything is repaired, the checks are deactivated, the
 * runs end, and the histories are judged. The folder is kept.
 */
export async function runCampaign(options: CampaignOptions): Promise<CampaignReport> {
  const { seed, engine, durationMs, rounds = 1, progress = () => undefined } = options;
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), `picket-faults-${seed}-`));
  const book = new HistoryBook(folder);
  await using stage = await Stage.open(book, options);
  const checks = await stage.createChecks(options.checkCount, durationMs * rounds >= 2 * scheduleMs);
  progress(`${checks.length} checks, ${engine}`);
  const turns = Array.from({ length: rounds }, (_, round) =>
    planFaults(seed + round, durationMs, stage.actors()).map((fault) => ({
      ...fault,
      fromMs: fault.fromMs + round * durationMs,
    })),
  );
  const plan = options.plan ?? turns.flat();
  const endsAtMs = nowMs() + rounds * durationMs;
  const { signal } = options;
  if (options.nemesis) await options.nemesis(stage.victims);
  else await unleash({ plan, victims: stage.victims, database: stage.database, book, progress, signal });
  await delay(Math.max(0, endsAtMs - nowMs()), undefined, { signal });
  progress('the nemesis rests');
  const ended = await stage.endChecks(checks);
  await stage.settle();
  book.writeLedger({
    checks: ended,
    ledger: await stage.ledger.readAll(),
    ...(await stage.readSurfaces(ended)),
  });
  const histories = readHistories(folder);
  return { folder, violations: judge(histories), figures: figuresOf(histories) };
}

/** A small disk that can be filled; a plain folder if no disk can be mounted. */
function smallDisk(
  path: string,
  sizeMb: number,
  resources: AsyncDisposableStack,
): { path: string; isDisk: boolean } {
  mkdirSync(path, { recursive: true });
  const isDisk =
    process.getuid?.() === 0 &&
    spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}m`, 'tmpfs', path]).status === 0;
  resources.defer(() => {
    if (isDisk) spawnSync('umount', ['-l', path]);
    rmSync(path, { recursive: true, force: true });
  });
  return { path, isDisk };
}

class Stage implements AsyncDisposable {
  readonly victims = new Map<string, Victim>();
  readonly #services: { readonly process: SupervisedProcess; readonly url: string }[] = [];
  readonly #agents: SupervisedProcess[] = [];
  readonly #resources: AsyncDisposableStack;
  readonly #programs: NonNullable<CampaignOptions['programs']>;
  #turn = 0;
  database: PostgresServer | undefined;
  ledger!: LedgerReader;
  #target!: LoggedTarget;

  private constructor(resources: AsyncDisposableStack, programs: CampaignOptions['programs']) {
    this.#resources = resources;
    this.#programs = programs ?? {};
  }

  static async open(book: HistoryBook, options: CampaignOptions): Promise<Stage> {
    const stage = new Stage(new AsyncDisposableStack(), options.programs);
    try {
      await stage.#start(book, options);
      return stage;
    } catch (thrown) {
      await stage[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  async #start(book: HistoryBook, { engine, agents = usualAgents }: CampaignOptions): Promise<void> {
    const { folder } = book;
    this.#target = new LoggedTarget(book);
    await this.#target.listen();
    this.#resources.defer(() => this.#target[Symbol.asyncDispose]());
    const disk = smallDisk(join(folder, 'data'), 64, this.#resources);
    const environment: Record<string, string> = { DATA_DIR: disk.path };
    if (engine === 'postgres') {
      const database = await startPostgres();
      this.database = database;
      this.#resources.defer(() => database.stop());
      environment.DATABASE_URL = await database.createDatabase();
      this.ledger = postgresLedger(environment.DATABASE_URL);
    } else this.ledger = sqliteLedger(disk.path);
    for (let number = 1; number <= (engine === 'postgres' ? 2 : 1); number += 1) {
      await this.#addService(`service-${number}`, book, environment, disk.isDisk ? disk.path : undefined);
    }
    await Promise.all(this.#services.map(({ process }) => process.ready(readyTimeoutMs)));
    for (const [name, location] of Object.entries(agents)) {
      await this.#addAgent(name, location, book);
    }
    await Promise.all(this.#agents.map((agent) => agent.ready(readyTimeoutMs)));
  }

  async #addService(
    name: string,
    book: HistoryBook,
    environment: Readonly<Record<string, string>>,
    disk: string | undefined,
  ): Promise<void> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const process = new SupervisedProcess({
      name,
      command: 'service',
      program: this.#programs.service,
      book,
      readinessUrl: `${url}/-/readiness`,
      environment: {
        PORT: String(port),
        HOST: '127.0.0.1',
        BOOTSTRAP_API_KEY: apiKey,
        RATE_LIMIT_PER_MINUTE: '0',
        ...environment,
      },
    });
    this.#resources.defer(() => process.end('SIGKILL'));
    process.start();
    this.#services.push({ process, url });
    this.victims.set(name, disk === undefined ? { process } : { process, disk });
  }

  async #addAgent(name: string, location: string, book: HistoryBook): Promise<void> {
    const wire = new Wire({ agent: name, book, pickService: () => this.#pickService() });
    await wire.listen();
    this.#resources.defer(() => wire[Symbol.asyncDispose]());
    const spool = smallDisk(join(book.folder, `${name}-spool`), 8, this.#resources);
    const clockFile = join(book.folder, `${name}-clock`);
    writeFileSync(clockFile, '0');
    const port = await freePort();
    const process = new SupervisedProcess({
      name,
      command: 'agent',
      program: this.#programs.agent,
      book,
      readinessUrl: `http://127.0.0.1:${port}/-/readiness`,
      environment: {
        API_KEY: await this.#keyOf(location),
        SERVICE_URL: wire.url,
        AGENT_HEALTH_PORT: String(port),
        AGENT_ID: name,
        SPOOL_DIR: spool.path,
        SHUTDOWN_GRACE_SECONDS: '5',
        // No check here has a script: warm sandboxes would only slow down other processes.
        RUNTIMES_DIR: '/nonexistent',
        PICKET_TEST_CLOCK_FILE: clockFile,
        NODE_OPTIONS: `--import=${join(import.meta.dirname, 'shifted-clock.mjs')}`,
      },
    });
    this.#resources.defer(() => process.end('SIGKILL'));
    process.start();
    this.#agents.push(process);
    this.victims.set(name, { process, wire, clockFile, ...(spool.isDisk ? { disk: spool.path } : {}) });
  }

  readonly #keys = new Map<string, string>();

  async #keyOf(slugName: string): Promise<string> {
    const known = this.#keys.get(slugName);
    if (known !== undefined) return known;
    const made = await this.#api<{ keys: { rawKey: string }[] }>('POST', '/v1/private-locations', {
      name: slugName,
      slugName,
    });
    const key = made.keys[0]?.rawKey ?? '';
    this.#keys.set(slugName, key);
    return key;
  }

  /** Round-robin among running services, like a load balancer that only knows whether they run. */
  #pickService(): string | undefined {
    const running = this.#services.filter(({ process }) => process.isRunning);
    this.#turn += 1;
    return running[this.#turn % running.length]?.url;
  }

  actors() {
    return {
      agent: this.#agents.map(({ name }) => name),
      service: this.#services.map(({ process }) => process.name),
      database: this.database ? ['database'] : [],
    };
  }

  /**
   * Healthy and unhealthy, quick and slow targets; at one location, at both in turn, at both at once; on a grid, in
   * hours and, if there is time for some slots, on a schedule.
   */
  async createChecks(count: number, hasSchedules: boolean): Promise<CampaignCheck[]> {
    const checks: CampaignCheck[] = [];
    const services: { readonly id: string }[] = [];
    const [first = '', second = first] = this.#keys.keys();
    for (let number = 0; number < count; number += 1) {
      const path = `/check/${number}`;
      const isHealthy = number % 5 !== 4;
      const hold = number % 4 === 1 ? `hold=${1_500 + (number % 3) * 1_000}` : '';
      const query = [hold, isHealthy ? '' : 'sick'].filter(Boolean).join('&');
      const locations = [[first], [first], [second], [...this.#keys.keys()]][number % 4] ?? [];
      const isParallel = number % 8 === 7 && locations.length > 1;
      // By hours the same slots come from a timetable. Services of another version know neither.
      const hasTimetables = this.#programs.service === undefined;
      const isInHours = hasTimetables && number % 3 === 2;
      const isOnSchedule = hasTimetables && hasSchedules && [4, 11].includes(number % 12);
      const service = await this.#service(`check ${number}`);
      const from = Date.now();
      const { id } = await this.#api<{ id: string }>('POST', '/v1/checks/url', {
        ...service.fields,
        name: `check ${number}`,
        frequency: 0,
        frequencyOffset: 10,
        ...(isInHours ? { activeHours: allHours } : {}),
        ...(isOnSchedule ? { schedule: everyHalfMinute } : {}),
        privateLocations: locations,
        runParallel: isParallel,
        // Targets share the machine with all other processes: their speed is not judged.
        maxResponseTime: 30_000,
        request: { url: `${this.#target.url}${path}?${query}` },
        retryStrategy: isHealthy
          ? null
          : {
              type: 'FIXED',
              baseBackoffSeconds: 1,
              maxRetries: 2,
              maxDurationSeconds: 60,
              sameRegion: number % 2 === 0,
            },
      });
      if (service.id !== undefined) {
        // The page is matched by check ids.
        await this.#api('PUT', `/v1/status-pages/services/${service.id}`, { name: id });
        services.push({ id: service.id });
      }
      checks.push({
        id,
        path,
        intervalMs: isOnSchedule ? scheduleMs : 10_000,
        locations,
        isParallel,
        isHealthy,
        createdWithin: [from, Date.now()],
        endedWithin: [0, 0],
      });
    }
    if (services.length > 0) await this.#showOnPage(services);
    return checks;
  }

  async endChecks(checks: readonly CampaignCheck[]): Promise<CampaignCheck[]> {
    await Promise.all(this.#services.map(({ process }) => process.ready(readyTimeoutMs)));
    const ended: CampaignCheck[] = [];
    for (const check of checks) {
      const from = Date.now();
      await this.#api('PUT', `/v1/checks/url/${check.id}`, { activated: false });
      ended.push({ ...check, endedWithin: [from, Date.now()] });
    }
    return ended;
  }

  async settle(): Promise<void> {
    const endsAtMs = nowMs() + settleTimeoutMs;
    while ((await this.ledger.countUnfinished()) > 0) {
      if (nowMs() > endsAtMs) break; // The judge reports runs that are not terminal.
      await delay(250);
    }
    // The ledger may record an end before the agent has the response.
    await Promise.all([...this.victims.values()].map(({ wire }) => wire?.quiet()));
  }

  /** The slots as the service shows them; nothing for other versions. */
  async readSurfaces(checks: readonly CampaignCheck[]): Promise<{ shown?: ShownCounts[] }> {
    if (this.#programs.service !== undefined) return {};
    const read = (path: string) => this.#api('GET', path, undefined);
    const post = (path: string, body: unknown) => this.#api('POST', path, body);
    return { shown: await readSurfaces(read, post, checks, statusPage) };
  }

  /** A status page service, and the settings with which a check opens its incidents; empty for other versions. */
  async #service(name: string): Promise<{ id?: string; fields: object }> {
    if (this.#programs.service !== undefined) return { fields: {} };
    const { id } = await this.#api<{ id: string }>('POST', '/v1/status-pages/services', { name });
    const triggerIncident = { serviceId: id, name, description: '', notifySubscribers: false };
    return { id, fields: { triggerIncident } };
  }

  /** Creates a status page with these services. */
  async #showOnPage(services: readonly { readonly id: string }[]): Promise<void> {
    const cards = Array.from({ length: Math.ceil(services.length / 100) }, (_, index) => ({
      name: `card ${index}`,
      services: services.slice(index * 100, index * 100 + 100),
    }));
    await this.#api('POST', '/v1/status-pages', { name: statusPage, url: statusPage, cards });
  }

  async #api<T>(method: string, path: string, body: unknown): Promise<T> {
    const url = this.#services[0]?.url ?? '';
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as T;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}
