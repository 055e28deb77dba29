import { rmSync } from 'node:fs';
import { afterEach, expect } from 'vitest';
import type { RunRow } from '../../../../src/service/runs/tables.ts';
import { ManualClock } from '../../../helpers/manual-clock.ts';
import {
  type Answer,
  createLocation,
  type HarnessOptions,
  openHarness,
  type ServiceHarness,
  TestAgent,
  type TestLocation,
  temporaryFolder,
  until,
} from '../../../helpers/service/service.ts';

/** Location of a store's data. */
export interface StorePlace {
  readonly databaseUrl?: string;
  readonly folder?: string;
}

export const leaseTtlMs = 15_000;

/**
 * The initial state of every store test: an empty store of one engine, a service on it, a location and an agent. The
 * test controls the clock.
 */
export class StoreStage {
  place: StorePlace = {};
  clock = new ManualClock();
  readonly open: ServiceHarness[] = [];
  /** Alerting settings of services that are opened. */
  alerting: HarnessOptions['alerting'] = {};
  /** Whether mails to subscribers are stored. */
  hasMailer = false;
  /** Details are kept of every nth pass; of all passes when undefined. */
  everyNthPass: number | undefined;
  /** How long leases last; `leaseTtlMs` unless the test says otherwise before it starts. */
  leasesLastMs = leaseTtlMs;
  readonly #nextPlace: () => Promise<StorePlace>;
  #set: { harness: ServiceHarness; location: TestLocation; agent: TestAgent } | undefined;

  constructor(nextPlace: () => Promise<StorePlace>) {
    this.#nextPlace = nextPlace;
    afterEach(async () => {
      for (const opened of this.open.splice(0)) await opened.close();
      this.leasesLastMs = leaseTtlMs;
      if (this.place.folder) rmSync(this.place.folder, { recursive: true, force: true });
    });
  }

  async start(): Promise<void> {
    this.place = await this.#nextPlace();
    this.clock = new ManualClock();
    const harness = await this.openHere();
    const location = await createLocation(harness, 'lab');
    const agent = new TestAgent(harness, location);
    this.#set = { harness, location, agent };
    // It is present from the start: runs that no agent can run are not queued.
    await agent.claim();
  }

  /** Opens a service on the current place: the same data after a restart. */
  async openHere(): Promise<ServiceHarness> {
    const opened = await openHarness({
      ...this.place,
      clock: this.clock,
      leaseTtlMs: this.leasesLastMs,
      alerting: this.alerting,
      hasMailer: this.hasMailer,
      everyNthPass: this.everyNthPass,
    });
    this.open.push(opened);
    return opened;
  }

  get harness(): ServiceHarness {
    return this.#current.harness;
  }
  set harness(harness: ServiceHarness) {
    this.#current.harness = harness;
  }

  get agent(): TestAgent {
    return this.#current.agent;
  }
  set agent(agent: TestAgent) {
    this.#current.agent = agent;
  }

  get location(): TestLocation {
    return this.#current.location;
  }

  get #current() {
    if (!this.#set) throw new Error('the stage was not started');
    return this.#set;
  }

  /** Advances in small steps until the condition holds, so that timers of the service fire in between. */
  advanceUntil<T>(what: string, look: () => Promise<T | undefined | false>) {
    return until(what, async () => {
      const seen = await look();
      if (!seen) this.clock.advance(20);
      return seen;
    });
  }

  /** Advances until the next slot of a check is due and queued. */
  async queueNextSlot(checkId: string, expected = 1): Promise<void> {
    const { harness, clock } = this;
    // The scheduler may have taken the slot already, before it is due.
    const dueCount = (runs: readonly RunRow[]) =>
      runs.filter(({ slot_at: slotAt }) => slotAt <= clock.wallMs()).length;
    const check = await harness.store.checks.find(harness.accountId, checkId);
    const runs = await this.runsOf(checkId);
    const early = runs.find(({ slot_at: slotAt }) => slotAt > clock.wallMs());
    const before = dueCount(runs);
    harness.startScheduler();
    clock.advance(Math.max(0, (early?.slot_at ?? check?.slots.nextSlotAt ?? 0) - clock.wallMs()));
    await this.advanceUntil(
      'the slot is queued',
      async () => dueCount(await this.runsOf(checkId)) >= before + expected,
    );
  }

  /** Waits for the end of a deployment of the project `project`. Returns its final state. */
  async deploymentEnded(
    started: Answer,
    options?: Parameters<ServiceHarness['call']>[3],
  ): Promise<Answer['body']> {
    expect([started.status, started.body.message]).toEqual([202, undefined]);
    const path = `/v1/projects/project/deployments/${started.body.id}`;
    return until('the deployment ended', async () => {
      const { body } = await this.harness.call('GET', path, undefined, options);
      return body.endedAt === null ? undefined : body;
    });
  }

  runsOf(checkId: string) {
    return this.harness.store.runs.ofCheck(checkId);
  }
}

/** A folder for a store on SQLite. */
export async function sqlitePlace(): Promise<StorePlace> {
  return { folder: temporaryFolder().path };
}
