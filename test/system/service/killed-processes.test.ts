import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { LeasedRun } from '../../../src/protocol/agent/agent.ts';
import { openStore } from '../../../src/server/compose.ts';
import { sampleOf } from '../../helpers/night.ts';
import type { PicketProcess } from '../../helpers/picket-process.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { quietLogger, reportOf, temporaryFolder, until } from '../../helpers/service/service.ts';
import { type ServiceProcess, startServiceProcess } from '../../helpers/service/service-process.ts';
import { emptyDatabase } from '../../helpers/service/shared-database.ts';

const noPostgres = whyNoPostgres();
const started: PicketProcess[] = [];
const folder = temporaryFolder();
const checkCount = 40;
const rounds = 6;

afterEach(async () => {
  await Promise.all(started.splice(0).map((each) => each.kill('SIGKILL')));
});
afterAll(() => folder.remove());

/**
 * An agent that behaves like a real one when a service process dies: it switches to another one, and resends what was
 * not acknowledged. Its runs take no time.
 */
class SteadfastAgent {
  /** Ids of results that a process has acknowledged. */
  readonly acknowledged: Set<string>;
  readonly #key: string;
  readonly #identity = { agentId: randomUUID(), sessionId: randomUUID() };
  readonly #homes: ServiceProcess[];
  #waiting: LeasedRun[] = [];

  constructor(key: string, homes: readonly ServiceProcess[], acknowledged: Set<string>) {
    this.#key = key;
    this.#homes = [...homes];
    this.acknowledged = acknowledged;
  }

  async work(isDone: () => boolean): Promise<void> {
    while (!isDone()) {
      try {
        await this.#report();
        await this.#claim();
      } catch {
        // The connection broke, or the process is dead: the other one continues.
        this.#homes.push(...this.#homes.splice(0, 1));
      }
    }
  }

  async #claim(): Promise<void> {
    const { status, body } = await this.#call('claims', {
      ...this.#identity,
      version: '8.0.0',
      platform: 'test',
      checkTypes: ['URL'],
      freeSlots: { probe: 7 },
      waitMs: 200,
    });
    if (status !== 200) throw new Error(JSON.stringify(body));
    this.#waiting.push(...body.runs);
  }

  async #report(): Promise<void> {
    const sent = this.#waiting;
    if (sent.length === 0) return;
    const { status, body } = await this.#call('results', {
      ...this.#identity,
      results: sent.map((run) => reportOf(run)),
    });
    if (status !== 200) throw new Error(JSON.stringify(body));
    sent.forEach((run, index) => {
      // Fenced ones belong to another agent by now.
      if (['accepted', 'duplicate'].includes(body.items[index].status)) this.acknowledged.add(run.resultId);
    });
    this.#waiting = this.#waiting.filter((run) => !sent.includes(run));
  }

  #call(path: string, body: unknown) {
    const [home] = this.#homes;
    if (!home) throw new Error('there is no service');
    return home.call('POST', `/v1/agent/${path}`, body, this.#key);
  }
}

describe.skipIf(noPostgres !== null)(
  `two services on PostgreSQL${noPostgres ? `: ${noPostgres}` : ''}`,
  () => {
    it.each(sampleOf(['the one that schedules', 'the other one'], 1))(
      'lose no acknowledged result and no run when %s is killed amid claims and results',
      async (whom) => {
        const databaseUrl = await emptyDatabase();
        const environment = {
          DATABASE_URL: databaseUrl,
          DATA_DIR: folder.path,
          BOOTSTRAP_API_KEY: 'bootstrap-key-of-the-tests',
        };
        const start = () => startServiceProcess(environment, (process) => started.push(process));
        const services = await Promise.all([start(), start()]);
        const leads = ({ process }: ServiceProcess) => process.output().includes('became leader');
        const leader = await until('one of them schedules', () => services.find(leads));
        const victim = services.find(
          (service) => (service === leader) === (whom === 'the one that schedules'),
        );
        const survivor = services.find((service) => service !== victim);
        if (!victim || !survivor) throw new Error('there are not two services');

        const location = await survivor.call('POST', '/v1/private-locations', {
          name: 'lab',
          slugName: 'lab',
        });
        const checkIds: string[] = [];
        for (let index = 0; index < checkCount; index += 1) {
          const made = await survivor.call('POST', '/v1/checks/url', {
            name: `check ${index}`,
            frequency: 1440,
            privateLocations: ['lab'],
            request: { url: 'http://x.test' },
          });
          expect(made.status).toBe(201);
          checkIds.push(made.body.id);
        }
        // An agent is present: runs that no agent can run are not queued.
        const hello = {
          ...{ agentId: randomUUID(), sessionId: randomUUID(), version: '8.0.0', platform: 'test' },
          ...{ checkTypes: ['URL'], freeSlots: { probe: 0, script: 0 }, waitMs: 0 },
        };
        const { rawKey } = location.body.keys[0];
        expect((await survivor.call('POST', '/v1/agent/claims', hello, rawKey)).status).toBe(200);
        let triggered = 0;
        for (let round = 0; round < rounds; round += 1) {
          const answer = await survivor.call('POST', '/v1/check-sessions/trigger', {
            target: { checkId: checkIds },
          });
          triggered += answer.body.sessions.length;
        }
        expect(triggered).toBe(checkCount * rounds);

        const store = await openStore({ databaseUrl, path: '', logger: quietLogger });
        try {
          const runsOf = async () => (await Promise.all(checkIds.map((id) => store.runs.ofCheck(id)))).flat();
          const acknowledged = new Set<string>();
          let isDone = false;
          const work = Array.from({ length: 4 }, (_, index) => {
            const homes = index % 2 === 0 ? [victim, survivor] : [survivor, victim];
            return new SteadfastAgent(location.body.keys[0].rawKey, homes, acknowledged).work(() => isDone);
          });
          try {
            await until('a part is acknowledged', () => acknowledged.size > triggered / 6, 30_000);
            victim.process.child.kill('SIGKILL');
            await victim.process.ended;
            const before = acknowledged.size;
            expect(before).toBeLessThan(triggered);
            // Runs leased in a lost response are leased again when their lease expires.
            await until(
              'every run has ended',
              async () => (await runsOf()).every(({ ended }) => ended !== null),
              60_000,
            );
          } finally {
            isDone = true;
            await Promise.all(work);
          }
          await until('the survivor schedules', () => leads(survivor), 30_000);

          const runs = await runsOf();
          expect(runs).toHaveLength(triggered);
          expect(runs.filter(({ state }) => state !== 'final')).toEqual([]);
          const window = { from: 0, to: Number.MAX_SAFE_INTEGER, resultType: 'ALL' } as const;
          const lists = await Promise.all(
            checkIds.map((checkId) => store.results.list({ checkId, ...window }, { limit: 100, offset: 0 })),
          );
          const results = lists.flatMap((list) => list.results);
          // One final result per run, including every acknowledged one.
          expect(results.map((row) => row.run_id).sort()).toEqual(runs.map(({ id }) => id).sort());
          const stored = new Set(results.map(({ id }) => id));
          expect([...acknowledged].filter((id) => !stored.has(id))).toEqual([]);
          expect(acknowledged.size).toBe(triggered);
          const sessions = await survivor.call('GET', `/v1/check-statuses`);
          expect(sessions.body).toHaveLength(checkCount);
        } finally {
          await store.close();
        }
      },
      120_000,
    );
  },
);
