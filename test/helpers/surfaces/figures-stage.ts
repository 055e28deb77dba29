import { failure } from '../../../src/checks/contract/failure.ts';
import { endedAt } from '../../../src/platform/store/days/ended-day.ts';
import { queuedRun, RunNumbers } from '../../../src/service/runs/due-runs.ts';
import type { RunRow } from '../../../src/service/runs/tables.ts';
import { resultRow } from '../../integration/conformance/store-suites/result-samples.ts';
import { ManualClock } from '../manual-clock.ts';
import {
  createCheck,
  createLocation,
  type HarnessOptions,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
  type TestLocation,
} from '../service/service.ts';

const hourMs = 3_600_000;

/** Results of a check's slots in the last hours. */
interface History {
  readonly passed?: number;
  readonly failed?: number;
  readonly errors?: number;
  readonly missed?: number;
  readonly ms?: number;
}

/** Difficult values; each name describes its purpose. */
const histories = {
  'six and a half': { passed: 129, failed: 1_871, ms: 812.4 },
  'nearly whole': { passed: 19_999, failed: 1, ms: 0.42 },
  third: { passed: 1, failed: 2, ms: 0.0004 },
  nothing: { failed: 7, ms: 59_999.6 },
  gaps: { passed: 7, missed: 5, ms: 9.96 },
  unjudged: { errors: 3 },
  whole: { passed: 1_204, ms: 999.7 },
} satisfies Readonly<Record<string, History>>;
export type Named = keyof typeof histories;
export const historyNames = Object.keys(histories) as Named[];

/** The newest run of each, which decides the state of the check. */
export const endings = {
  'six and a half': { failure: failure('STATUS_UNEXPECTED', 'Unexpected status 503') },
  'nearly whole': {},
  third: { isDegraded: true },
  nothing: { failure: failure('CONNECTION_REFUSED', 'connect ECONNREFUSED 192.0.2.7:443') },
  gaps: {},
  unjudged: { failure: failure('RESOLVER_FAILED', 'queryA ESERVFAIL shop.test') },
  whole: {},
} as const;

/** One account with difficult numbers, on a day of a clock change: every surface with numbers shows these. */
export class FiguresStage {
  readonly harness: ServiceHarness;
  readonly clock: ManualClock;
  readonly agent: TestAgent;
  readonly location: TestLocation;
  readonly url: string;
  readonly ids = new Map<string, string>();
  readonly made = new Map<string, string>();

  private constructor(harness: ServiceHarness, clock: ManualClock, location: TestLocation, url: string) {
    this.harness = harness;
    this.clock = clock;
    this.location = location;
    this.url = url;
    this.agent = new TestAgent(harness, location);
  }

  static async open(options: Omit<HarnessOptions, 'clock'> = {}): Promise<FiguresStage> {
    // Noon of the day on which summer time begins in Europe.
    const clock = new ManualClock(Date.UTC(2026, 2, 29, 12));
    const harness = await openHarness({ ...options, clock });
    const url = await harness.app.listen({ port: 0, host: '127.0.0.1' });
    const stage = new FiguresStage(harness, clock, await createLocation(harness, 'lab'), url);
    await stage.#fill();
    return stage;
  }

  async call(method: string, path: string, body?: unknown) {
    const answer = await this.harness.call(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async #fill(): Promise<void> {
    const service = await this.call('POST', '/v1/status-pages/services', { name: 'Shop' });
    const byHand = await this.call('POST', '/v1/status-pages/services', { name: 'By hand' });
    for (const name of historyNames) {
      const incident = { serviceId: service.id, name: 'Down', description: 'x', notifySubscribers: false };
      const { id } = await createCheck(this.harness, {
        ...{ name, tags: ['shown'], privateLocations: ['lab'], retryStrategy: null, doubleCheck: false },
        ...(name === 'gaps' ? { triggerIncident: incident } : {}),
      });
      this.ids.set(name, id);
      await this.#insert(id, histories[name]);
    }
    const shown = { tags: ['shown'], privateLocations: ['lab'] };
    this.ids.set('never run', (await createCheck(this.harness, { name: 'never run', ...shown })).id);
    const paused = await createCheck(this.harness, { name: 'paused', activated: false, ...shown });
    this.ids.set('paused', paused.id);
    this.harness.startScheduler();
    await this.runEach();
    await this.#runOnDemand('whole');
    const cards = [{ name: 'Core', services: [{ id: service.id }, { id: byHand.id }] }];
    await this.call('POST', '/v1/status-pages', { name: 'Ours', url: 'ours', cards });
    await this.call('POST', '/v1/dashboards', { header: 'Wall', customUrl: 'wall', tags: ['shown'] });
    const slo = await this.call('POST', '/v1/slos', {
      ...{ name: 'Nearly', target: 99.5, windowDays: 7, checkId: this.id('nearly whole') },
    });
    this.made.set('slo', String(slo.id));
    await this.#fillPages(service.id);
  }

  /** Fills the pages with content other than checks. */
  async #fillPages(serviceId: string): Promise<void> {
    const update = { status: 'INVESTIGATING', description: 'We look into it.' };
    await this.call('POST', '/v1/status-pages/incidents', {
      ...{ name: 'Slow', severity: 'MINOR', services: [{ id: serviceId }], incidentUpdates: [update] },
    });
    const at = (hours: number) => new Date(this.clock.wallMs() + hours * hourMs).toISOString();
    await this.call('POST', '/v1/maintenance-windows', {
      ...{ name: 'New disks', startsAt: at(24), endsAt: at(26.5), tags: ['shown'] },
    });
    await this.call('POST', '/v1/check-groups', { name: 'Team', tags: [] });
    const webhook = { name: 'Hook', url: 'http://192.0.2.1/hook', method: 'POST' };
    await this.call('POST', '/v1/alert-channels', { type: 'WEBHOOK', config: webhook });
    await this.call('POST', '/v1/snippets', { name: 'Login', script: 'console.log(1)' });
    const page = { name: 'Parts', url: 'parts', version: 3 };
    const { id: statusPageId } = await this.call('POST', '/v1/status-pages', page);
    const component = { statusPageId, name: 'Basket' };
    const { id: componentId } = await this.call('POST', '/v1/status-pages/components', component);
    await this.call('POST', '/v1/status-pages/automation-rules', {
      ...{ statusPageId, name: 'Basket fails', tags: ['shown'], firstUpdate: 'down', lastUpdate: 'up' },
      components: [{ componentId, targetImpact: 'MAJOR_OUTAGE' }],
    });
  }

  id(name: string): string {
    const id = this.ids.get(name);
    if (id === undefined) throw new Error(`there is no check ${name}`);
    return id;
  }

  async #insert(checkId: string, { passed = 0, failed = 0, errors = 0, missed = 0, ms = 1 }: History) {
    const { store, accountId } = this.harness;
    const check = await store.checks.find(accountId, checkId);
    if (!check) throw new Error(`there is no check ${checkId}`);
    const ends = [
      ...Array.from({ length: failed }, () => 'failed' as const),
      ...Array.from({ length: errors }, () => 'error' as const),
      ...Array.from({ length: missed }, () => 'missed' as const),
      ...Array.from({ length: passed }, () => 'passed' as const),
    ];
    const now = this.clock.wallMs();
    const stepMs = Math.floor((20 * hourMs) / ends.length);
    const numbers = new RunNumbers();
    const runs = ends.map((end, index): RunRow => {
      const slotAt = now - hourMs - (ends.length - index) * stepMs;
      const place = { location: 'lab', locationId: this.location.id, slotAt, freshMs: 60_000, now: slotAt };
      const run = queuedRun(
        { ...check, neededRuntimeId: null },
        { ...place, checkRunId: numbers.next(slotAt) },
      );
      return end === 'missed'
        ? { ...run, state: 'missed', reason: 'no-agent', ...endedAt(slotAt + 60_000) }
        : { ...run, state: 'final', ...endedAt(slotAt + 100) };
    });
    const rows = runs.flatMap((run, index) => {
      const end = ends[index];
      if (end === 'missed') return [];
      const isBad = { hasFailures: end === 'failed', hasErrors: end === 'error' };
      const row = resultRow(checkId, accountId, run.slot_at + 100, {
        ...isBad,
        responseTime: end === 'error' ? null : ms,
      });
      const facts = {
        failed: { owner: 'target', code: 'STATUS_UNEXPECTED', message: 'Unexpected status 503' },
        error: { owner: 'location', code: 'RESOLVER_FAILED', message: 'queryA ESERVFAIL shop.test' },
        passed: {},
      }[end ?? 'passed'];
      return [{ ...row, run_id: run.id, slot_at: run.slot_at, ...facts }];
    });
    for (let start = 0; start < runs.length; start += 2_000) {
      await store.runs.insert(runs.slice(start, start + 2_000));
      await store.results.insert(rows.slice(start, start + 2_000));
    }
  }

  /** Runs each check once through an agent, which sets its state. */
  async runEach(): Promise<void> {
    const { agent, clock } = this;
    const waiting = new Map(historyNames.map((name) => [this.id(name), name]));
    while (waiting.size > 0) {
      clock.advance(1_000);
      for (const run of await agent.claim()) {
        const name = waiting.get(run.check.id);
        if (name === undefined) continue;
        waiting.delete(run.check.id);
        const ending = endings[name];
        const message = 'failure' in ending ? [ending.failure.message] : [];
        await agent.report([reportOf(run, { responseTimeMs: 1_234.5, errorMessages: message, ...ending })]);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Runs a check on demand; the run fails, and no figure counts it. */
  async #runOnDemand(name: Named): Promise<void> {
    const trigger = { target: { checkId: [this.id(name)] } };
    const { sessions } = await this.call('POST', '/v1/check-sessions/trigger', trigger);
    this.made.set('session', sessions[0].checkSessionId);
    this.clock.advance(1_000);
    const run = (await this.agent.claim()).find(({ check }) => check.id === this.id(name));
    if (!run) throw new Error('the run on demand was not leased');
    this.made.set('run on demand', run.resultId);
    const failed = failure('STATUS_UNEXPECTED', 'Unexpected status 503');
    await this.agent.report([
      reportOf(run, { responseTimeMs: 30_000, failure: failed, errorMessages: [failed.message] }),
    ]);
  }

  close(): Promise<void> {
    return this.harness.close();
  }
}
