import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { failure } from '../../../../src/checks/contract/failure.ts';
import { openStore } from '../../../../src/server/compose.ts';
import {
  createCheck,
  createLocation,
  quietLogger,
  reportOf,
  TestAgent,
} from '../../../helpers/service/service.ts';
import { resultRow } from './result-samples.ts';
import type { StorePlace, StoreStage } from './stage.ts';

/** Reads and writes of the API, restarts, and the isolation of accounts and locations. */
export function apiSuite(stage: StoreStage): void {
  it('keeps everything over a restart', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'], name: 'kept' });
    await stage.queueNextSlot(check.id);
    const [leased] = await stage.agent.claim();
    await stage.open.pop()?.close();
    const { key } = stage.harness;
    stage.harness = await stage.openHere();
    stage.agent = Object.assign(new TestAgent(stage.harness, stage.location), {
      sessionId: stage.agent.sessionId,
    });
    const read = await stage.harness.call('GET', `/v1/checks/${check.id}`, undefined, { key });
    // An agent was seen meanwhile, so there is no warning, and a slot has passed.
    expect(read.body).toEqual({ ...check, warnings: [], nextRunAt: expect.any(String) });
    if (!leased) throw new Error('nothing was leased');
    expect(await stage.agent.renew([leased])).toMatchObject({ lostRunIds: [] });
    expect(await stage.agent.report([reportOf(leased)])).toEqual(['accepted']);
  });

  it('refuses a schema that a newer build wrote', async () => {
    await stage.start();
    const { databaseUrl, folder } = stage.place;
    await stage.harness.store.transaction(async (repositories) => {
      // The repositories do not know migrations; the test reaches through one of them.
      await repositories.accounts.first();
    });
    await addMigration(stage.place);
    await expect(
      openStore({ databaseUrl, path: join(folder ?? '', 'picket.sqlite'), logger: quietLogger }),
    ).rejects.toThrow(/9999-from-the-future.*newer build/);
  });

  it('pages results by cursor, despite concurrent changes', async () => {
    await stage.start();
    const { store, accountId } = stage.harness;
    const { id } = await createCheck(stage.harness);
    const now = stage.clock.wallMs();
    // Some in the same millisecond: their ids order them.
    const rows = Array.from({ length: 25 }, (_, index) =>
      resultRow(id, accountId, now - Math.floor(index / 3) * 1000, { hasFailures: index % 5 === 0 }),
    );
    await store.results.insert(rows);
    const page = (query: string) => stage.harness.call('GET', `/v2/check-results/${id}?${query}`);
    const first = (await page('')).body;
    expect([first.length, first.entries.length]).toEqual([10, 10]);
    expect(Object.keys(first.entries[0])).toContain('apiCheckResult');
    // A new result shifts nothing; the result at the cursor may be deleted.
    await store.results.insert([resultRow(id, accountId, now + 1, {})]);
    await store.transaction((repositories) =>
      repositories.retired.removeResults('results', [first.entries[9].id]),
    );
    const seen = [...first.entries];
    for (let next = first.nextId; next; ) {
      const { body } = await page(`limit=4&nextId=${next}`);
      seen.push(...body.entries);
      next = body.nextId;
    }
    const expected = [...rows].sort((a, b) => b.created - a.created || (a.id < b.id ? 1 : -1));
    expect(seen.map((one) => one.id)).toEqual(expected.map((one) => one.id));
    const failed = (await page('hasFailures=true&limit=100')).body;
    const gone = rows.filter((one) => one.id === first.entries[9].id && one.has_failures === 1);
    expect([failed.length, failed.nextId]).toEqual([5 - gone.length, null]);
    expect((await page(`to=${now - 4000}&limit=100`)).body.length).toBe(10);
    for (const query of ['limit=0', 'nextId=x', 'resultType=x', `from=${now}&to=${now - 1}`]) {
      expect([query, (await page(query)).status]).toEqual([query, 400]);
    }
    const stranger = await stage.harness.addAccount();
    const foreign = await stage.harness.call('GET', `/v2/check-results/${id}`, undefined, stranger);
    expect(foreign.status).toBe(404);
  });

  it('filters and pages checks', async () => {
    await stage.start();
    for (let index = 0; index < 5; index += 1) {
      stage.clock.advance(10);
      await createCheck(stage.harness, {
        name: `Straße ${index} 100%_\\`,
        tags: index % 2 === 0 ? ['even', 'all'] : ['all'],
        request: { url: `https://example.test/${index}` },
      });
    }
    const names = async (query: string) => {
      const answer = await stage.harness.call('GET', `/v1/checks?${query}`);
      return answer.body.map(({ name }: { name: string }) => name.slice(0, 8));
    };
    expect(await names('limit=2')).toEqual(['Straße 4', 'Straße 3']);
    expect(await names('limit=2&page=3')).toEqual(['Straße 0']);
    expect(await names('limit=2&page=1000000000')).toEqual([]);
    expect(await names('tag=even')).toEqual(['Straße 4', 'Straße 2', 'Straße 0']);
    expect(await names('tag=even&tag=none')).toHaveLength(3);
    expect(await names(`search=${encodeURIComponent('STRASSE')}`)).toEqual([]);
    expect(await names(`search=${encodeURIComponent('STRAßE 3')}`)).toEqual(['Straße 3']);
    expect(await names(`search=${encodeURIComponent('100%_\\')}`)).toHaveLength(5);
    expect(await names(`search=${encodeURIComponent('1%0')}`)).toEqual([]);
    expect(await names(`apiCheckUrlFilterPattern=${encodeURIComponent('test/2')}`)).toEqual(['Straße 2']);
    expect(await names('checkType=API')).toEqual([]);
    const paged = await stage.harness.call('GET', '/v1/checks?limit=2&page=2');
    expect(paged.headers['content-range']).toBe('2-3/5');
    expect(paged.headers.link).toBe(
      '</v1/checks?limit=2&page=3>; rel="next", </v1/checks?limit=2&page=3>; rel="last"',
    );
  });

  it('stores any text and any detail', async () => {
    await stage.start();
    const name = '😀 \u202e\'"; drop table checks; --';
    const check = await createCheck(stage.harness, { name, privateLocations: ['lab'] });
    expect(check.name).toBe(name);
    await stage.queueNextSlot(check.id);
    const [run] = await stage.agent.claim();
    if (!run) throw new Error('nothing was leased');
    const report = reportOf(run, {
      failure: failure('ASSERTION_FAILED', 'nul \u0000 lone \ud800'),
      errorMessages: ['\u0000'],
      detail: {
        assertions: [],
        request: { method: 'GET', url: 'x\u0000', data: '\ud800', headers: {}, params: {} },
        response: {
          status: 200,
          statusText: '',
          body: '\u0000\ud800',
          headers: null,
          timings: null,
          timingPhases: null,
          href: '',
          truncated: false,
          httpVersion: null,
          ipAddress: null,
          redirectCount: 0,
        },
        requestError: null,
        jobLog: null,
        jobAssets: null,
        pcapDataUrl: null,
      },
    });
    expect(await stage.agent.report([report])).toEqual(['accepted']);
    const all = await stage.harness.call('GET', `/v1/check-results/${check.id}?resultType=ALL`);
    expect(all.status).toBe(200);
    expect(all.body[0].apiCheckResult.response.body).toBe('\u0000\ud800');
  });

  it('rejects invalid results in a batch and accepts the rest', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'], runParallel: true });
    const second = await createCheck(stage.harness, { privateLocations: ['lab'] });
    await stage.queueNextSlot(check.id);
    await stage.queueNextSlot(second.id);
    const [one, two] = await stage.agent.claim();
    if (!one || !two) throw new Error('not enough was leased');
    const answer = await stage.agent.call('results', {
      ...stage.agent.identity,
      results: [
        null,
        { resultId: 7 },
        reportOf(one, { responseTimeMs: -1 }),
        reportOf(one, { runId: randomUUID() }),
        reportOf(one, { leaseNumber: 2 }),
        reportOf(two),
        reportOf(one),
      ],
    });
    expect(answer.status).toBe(200);
    const statuses = answer.body.items.map(({ status }: { status: string }) => status);
    expect(statuses).toEqual([
      'rejected',
      'rejected',
      'rejected',
      'rejected',
      'rejected',
      'accepted',
      'accepted',
    ]);
    for (const item of answer.body.items.slice(0, 5)) expect(item.reason).toMatch(/\S/);
    expect(answer.body.items[2].reason).toContain('responseTimeMs');
  });

  it("never shows a location's runs to another", async () => {
    await stage.start();
    const other = new TestAgent(stage.harness, await createLocation(stage.harness, 'other'), 'other');
    const stranger = await stage.harness.addAccount();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'] });
    await stage.queueNextSlot(check.id);
    expect(await other.claim()).toEqual([]);
    const [run] = await stage.agent.claim();
    if (!run) throw new Error('nothing was leased');
    expect(await other.renew([run])).toMatchObject({ lostRunIds: [run.runId], cancelledRunIds: [] });
    expect(await other.release([run])).toBe(0);
    expect(await other.report([reportOf(run)])).toEqual(['stale']);
    const elsewhere = await stage.harness.call(
      'POST',
      '/v1/private-locations',
      { name: 'x', slugName: 'lab' },
      { key: stranger.key },
    );
    const foreign = new TestAgent(stage.harness, {
      id: elsewhere.body.id,
      slugName: 'lab',
      key: elsewhere.body.keys[0].rawKey,
    });
    expect(await foreign.claim()).toEqual([]);
    expect(await foreign.report([reportOf(run)])).toEqual(['rejected']);
    expect(await stage.agent.report([reportOf(run)])).toEqual(['accepted']);
  });
}

/** Records a migration that this build does not know, as a newer build would. */
async function addMigration(place: StorePlace): Promise<void> {
  const statement = `insert into schema_migrations (position, name, applied_at) values (99, '9999-from-the-future', 0)`;
  if (place.databaseUrl === undefined) {
    const { DatabaseSync } = await import('node:sqlite');
    const database = new DatabaseSync(join(place.folder ?? '', 'picket.sqlite'));
    database.exec(statement);
    database.close();
    return;
  }
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: place.databaseUrl });
  await client.connect();
  await client.query(statement);
  await client.end();
}
