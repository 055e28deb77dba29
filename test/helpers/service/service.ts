import { randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance, InjectOptions } from 'fastify';
import type { ModelAccess } from '../../../src/checks/model/access.ts';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import { createLogger, type Logger } from '../../../src/lib/log.ts';
import type { ArtifactStore } from '../../../src/platform/artifact-store/artifact-store.ts';
import { DirectoryStore } from '../../../src/platform/artifact-store/directory-store.ts';
import { ServiceConfig } from '../../../src/platform/config/config.ts';
import type { StaticIps } from '../../../src/platform/config/static-ips.ts';
import type { KeyRole } from '../../../src/platform/ids/keys.ts';
import type { Store } from '../../../src/platform/store/store.ts';
import type { ClaimResponse, LeasedRun, ResultReport } from '../../../src/protocol/agent/agent.ts';
import { backgroundJobs, buildApi, openParts, openStore } from '../../../src/server/compose.ts';
import { addAccount, addKey } from '../../../src/service/accounts/accounts.ts';
import type { AlertingConfig } from '../../../src/service/alerts/delivery/configured-notifier.ts';
import { DomainProof, type NameServers } from '../../../src/service/custom-domains/domain-proof.ts';
import type { MailConfig } from '../../../src/service/mail/mail-server.ts';
import type { Mailing } from '../../../src/service/members/mails.ts';
import type { SingleSignOn } from '../../../src/service/members/single-sign-on.ts';
import type { AnalyticsThread } from '../../../src/service/results/analytics/analytics-thread.ts';
import type { Ledger } from '../../../src/service/runs/ledger.ts';

export const metricsToken = 'metrics-token-of-the-tests';

export const quietLogger: Logger = createLogger('test', 'silent');

/** A folder that `remove()` deletes. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'picket-service-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly body: any;
}

export interface ServiceHarness {
  readonly app: FastifyInstance;
  readonly store: Store;
  readonly ledger: Ledger;
  readonly analytics: AnalyticsThread;
  readonly clock: Clock;
  readonly accountId: string;
  readonly key: string;
  /** Calls the API with the account's key unless the options say otherwise. */
  call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Answer>;
  startScheduler(): void;
  startLeaseSweep(): void;
  startAlerting(): void;
  startSloBurns(): void;
  startHeartbeatWatch(): void;
  /** Results are kept for 30 days, files for 10, analytics for 60. */
  startRetention(): void;
  startPageCopies(): void;
  startCustomDomains(): void;
  startDeployments(): void;
  startAnalyses(): void;
  startModelQuestions(): void;
  startCheckTotals(): void;
  addAccount(role?: KeyRole): Promise<{ accountId: string; key: string }>;
  addKey(role: KeyRole): Promise<string>;
  close(): Promise<void>;
}

export interface CallOptions {
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface HarnessOptions {
  /** PostgreSQL to use; an SQLite database in a temporary folder when absent. */
  readonly databaseUrl?: string;
  /** Folder of the SQLite database; kept on close when given. */
  readonly folder?: string;
  readonly clock?: Clock;
  readonly leaseTtlMs?: number;
  /** Alerting settings that differ from the defaults. */
  readonly alerting?: Partial<AlertingConfig & MailConfig>;
  /** Folder of artifacts; a temporary folder when absent. */
  readonly artifactFolder?: string;
  /** Replaces the artifact folder; closed with the harness. */
  readonly artifactStore?: ArtifactStore;
  /** No rate limits when absent. */
  readonly requestsPerMinute?: number;
  readonly codeBundleQuotaBytes?: number;
  /** Details are kept of every nth pass; of all passes when absent. */
  readonly everyNthPass?: number | undefined;
  readonly readerTimeoutMs?: number;
  readonly trustedProxies?: readonly string[];
  readonly staticIps?: StaticIps;
  /** Whether mails to subscribers are stored, as with a configured mailer. */
  readonly hasMailer?: boolean;
  /** Whether there are pages for browsers; true when absent. */
  readonly hasPages?: boolean;
  /** Whether there are tools for language models; on when absent. */
  readonly mcp?: ServiceConfig['MCP'];
  /** Another host name of the service, which serves files of runs. */
  readonly artifactsUrl?: string;
  /** The public URL of the service; without it, links are paths. */
  readonly publicUrl?: string;
  /** Custom domains that the operator allows without a proof; no domains when absent. */
  readonly isDomainAllowed?: (host: string) => boolean;
  /** Name servers for the proof of a custom domain; those of the host when absent. */
  readonly nameServers?: NameServers;
  /** Receives invitations and password links. */
  readonly mail?: Mailing['mail'];
  readonly singleSignOn?: SingleSignOn;
  /** Model for analyses that rules leave open. */
  readonly model?: ModelAccess;
  /** Nothing is logged when absent. */
  readonly logger?: Logger;
}

/** Composes the service's real parts without a listening socket; background jobs run once started. */
export async function openHarness(options: HarnessOptions = {}): Promise<ServiceHarness> {
  const { databaseUrl, clock = systemClock, leaseTtlMs = 15_000 } = options;
  const temporary = options.folder === undefined ? temporaryFolder() : undefined;
  const folder = options.folder ?? temporary?.path ?? '';
  const { logger = quietLogger } = options;
  const path = join(folder, 'picket.sqlite');
  const { PICKET_TEST_SQLITE: migrated } = process.env;
  if (databaseUrl === undefined && migrated && !existsSync(path)) copyFileSync(migrated, path);
  const store = await openStore({ databaseUrl, path, logger });
  const artifactFolder = temporary ?? temporaryFolder();
  const artifactStore =
    options.artifactStore ??
    (await DirectoryStore.open(options.artifactFolder ?? join(artifactFolder.path, 'artifacts')));
  const config = {
    ...ServiceConfig.parse({}),
    // The tests' receivers are on this host.
    EGRESS_ALLOW: '127.0.0.1,::1',
    RESULT_RETENTION_DAYS: 30,
    ARTIFACT_RETENTION_DAYS: 10,
    ANALYTICS_RETENTION_DAYS: 60,
    DETAIL_OF_EVERY_NTH_PASS: options.everyNthPass ?? 1,
    CODE_BUNDLE_QUOTA_BYTES: options.codeBundleQuotaBytes ?? 2 ** 30,
    MCP: options.mcp ?? ('on' as const),
    ...options.alerting,
  };
  const { publicUrl, artifactsUrl, hasMailer, mail } = options;
  const domainProof = new DomainProof({
    ...{ publicUrl, artifactsUrl, nameServers: options.nameServers },
    isAllowed: options.isDomainAllowed ?? (() => false),
  });
  const closing = new AsyncDisposableStack();
  const parts = await openParts(
    {
      ...{ store, storePlace: { databaseUrl, path }, clock, logger, config, artifactStore, leaseTtlMs },
      ...{ publicUrl, artifactsUrl, metricsToken, domainProof },
      ...{ caCertificates: [], isReady: () => true, hasPages: options.hasPages ?? true },
      ...{ requestsPerMinute: options.requestsPerMinute, readerTimeoutMs: options.readerTimeoutMs },
      ...{ trustedProxies: options.trustedProxies, staticIps: options.staticIps },
      ...{ singleSignOn: options.singleSignOn, model: options.model },
      ...(hasMailer === undefined ? {} : { hasMailer }),
      ...(mail ? { mail } : {}),
    },
    closing,
  );
  const { ledger, analytics } = parts;
  const app = await buildApi(parts);
  const jobs = backgroundJobs(parts);
  const start = (...names: string[]) => {
    for (const job of jobs) if (names.includes(job.name)) job.start();
  };
  const newAccount = async (role: KeyRole = 'ADMIN') => {
    const { accountId } = await addAccount(store, clock, 'Test');
    const { rawKey } = await addKey(store, clock, { accountId, name: 'test', role });
    return { accountId, key: rawKey };
  };
  const { accountId, key } = await newAccount();
  return {
    app,
    store,
    ledger,
    analytics,
    clock,
    accountId,
    key,
    call: (method, path, body, callOptions = {}) => {
      const credential = callOptions.key === undefined ? key : callOptions.key;
      return inject(app, method, path, body, {
        ...(credential === null ? {} : { authorization: `Bearer ${credential}` }),
        ...callOptions.headers,
      });
    },
    startScheduler: () => start('scheduler'),
    startLeaseSweep: () => start('lease sweep'),
    startSloBurns: () => start('slo burns'),
    startAlerting: () => start('notifier', 'alert timers', 'alert causes'),
    startHeartbeatWatch: () => start('heartbeat watch'),
    startRetention: () => start('retention'),
    startPageCopies: () => start('copies of pages'),
    startCustomDomains: () => start('custom domains'),
    startDeployments: () => start('deployments'),
    startAnalyses: () => start('root cause analyses'),
    startModelQuestions: () => start('questions to a model'),
    startCheckTotals: () => start('check totals'),
    addAccount: newAccount,
    addKey: async (role) => (await addKey(store, clock, { accountId, name: 'test', role })).rawKey,
    close: async () => {
      for (const job of jobs.toReversed()) await job.stop();
      await app.close();
      await closing.disposeAsync();
      await artifactStore.close();
      await store.close();
      artifactFolder.remove();
    },
  };
}

async function inject(
  app: FastifyInstance,
  method: string,
  url: string,
  body: unknown,
  headers: Record<string, string>,
): Promise<Answer> {
  const request: InjectOptions = { method: method as 'GET', url, headers };
  if (body !== undefined) {
    request.payload = typeof body === 'string' ? body : JSON.stringify(body);
    request.headers = { 'content-type': 'application/json', ...headers };
  }
  const answer = await app.inject(request);
  const isJson = String(answer.headers['content-type'] ?? '').includes('json');
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body: isJson && answer.payload !== '' ? JSON.parse(answer.payload) : answer.payload,
  };
}

export interface TestLocation {
  readonly id: string;
  readonly slugName: string;
  readonly key: string;
}

export async function createLocation(harness: ServiceHarness, slugName: string): Promise<TestLocation> {
  const answer = await harness.call('POST', '/v1/private-locations', { name: slugName, slugName });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return { id: answer.body.id, slugName, key: answer.body.keys[0].rawKey };
}

/** Creates a URL monitor; the test may override every field. */
export async function createCheck(
  harness: ServiceHarness,
  fields: Readonly<Record<string, unknown>> = {},
  // biome-ignore lint/suspicious/noExplicitAny: a check as the API shows it
): Promise<any> {
  const answer = await harness.call('POST', '/v1/checks/url', {
    name: 'a monitor',
    frequency: 1,
    request: { url: 'http://target.test/' },
    ...fields,
  });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body;
}

/** An agent of a location, at the level of protocol calls. */
export class TestAgent {
  readonly agentId: string;
  readonly sessionId = randomUUID();
  readonly #harness: ServiceHarness;
  readonly #location: TestLocation;

  constructor(harness: ServiceHarness, location: TestLocation, agentId = 'agent-1') {
    this.#harness = harness;
    this.#location = location;
    this.agentId = agentId;
  }

  get identity() {
    return { agentId: this.agentId, sessionId: this.sessionId };
  }

  claimBody(fields: Readonly<Record<string, unknown>> = {}) {
    return {
      ...this.identity,
      version: '8.0.0',
      platform: 'test',
      checkTypes: ['API', 'URL'],
      freeSlots: { probe: 100, script: 0 },
      waitMs: 0,
      ...fields,
    };
  }

  call(path: string, body: unknown): Promise<Answer> {
    return this.#harness.call('POST', `/v1/agent/${path}`, body, { key: this.#location.key });
  }

  async claim(fields: Readonly<Record<string, unknown>> = {}): Promise<LeasedRun[]> {
    const answer = await this.call('claims', this.claimBody(fields));
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return (answer.body as ClaimResponse).runs;
  }

  async renew(runs: readonly LeasedRun[]): Promise<{ lostRunIds: string[]; cancelledRunIds: string[] }> {
    return (await this.call('leases/renew', { ...this.identity, leases: leaseRefs(runs) })).body;
  }

  async release(runs: readonly LeasedRun[]): Promise<number> {
    const answer = await this.call('leases/release', { ...this.identity, leases: leaseRefs(runs) });
    return answer.body.released;
  }

  /** Reports results; returns the status of each receipt. */
  async report(results: readonly unknown[]): Promise<string[]> {
    const answer = await this.call('results', { ...this.identity, results });
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return answer.body.items.map((item: { status: string }) => item.status);
  }
}

function leaseRefs(runs: readonly LeasedRun[]) {
  return runs.map(({ runId, leaseNumber }) => ({ runId, leaseNumber }));
}

/** The report of a leased run that passed; the test may override every field. */
export function reportOf(run: LeasedRun, fields: Partial<ResultReport> = {}): ResultReport {
  return {
    resultId: run.resultId,
    runId: run.runId,
    leaseNumber: run.leaseNumber,
    startedAt: run.slotAt + 5,
    stoppedAt: run.slotAt + 105,
    hostStartedAt: null,
    responseTimeMs: 100,
    startDelayMs: 1,
    agentLagMs: 0.5,
    agentOverheadMs: 0,
    isTimingDoubtful: false,
    certificateExpiresAt: null,
    isDegraded: false,
    overMaxResponseTime: false,
    failure: null,
    errorMessages: [],
    detail: null,
    ...fields,
  };
}

/** Waits for a condition by polling. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false | null> | T | undefined | false | null,
  timeoutMs = 90_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    if (performance.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
