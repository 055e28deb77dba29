import { expect, it } from 'vitest';
import { failure } from '../../../src/checks/contract/failure.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  reportOf,
  TestAgent,
  until,
} from '../../helpers/service/service.ts';
import { loggedIn, type Visitor } from '../../helpers/service/visitor.ts';

/** The overview with its figures, which may arrive a moment later. */
async function overview(path: string, visitor: Visitor): Promise<string> {
  return until('the figures', async () => {
    const { body } = await visitor.get(path);
    return body.includes('data-unfinished') ? undefined : body;
  });
}
const namesIn = (body: string) =>
  [...body.matchAll(/class="check-link" href="[^"]+">([^<]+)</g)].map(([, name]) => name);

it('sorts by figures over several pages, as the API does', async () => {
  const time = new ManualClock(Date.UTC(2026, 10, 22, 12));
  const many = await openHarness({ clock: time });
  try {
    const lab = new TestAgent(many, await createLocation(many, 'lab'));
    const groupOf = async (name: string) => (await many.call('POST', '/v1/check-groups', { name })).body.id;
    const [most, few] = [await groupOf('Most'), await groupOf('A few')];
    for (let count = 0; count < 52; count += 1) {
      const options = { frequency: 1, privateLocations: ['lab'], retryStrategy: null, doubleCheck: false };
      await createCheck(many, {
        ...options,
        name: `check ${count}`,
        groupId: count < 3 ? few : count === 3 ? null : most,
        tags: [`tag-${count % 2}`],
      });
    }
    many.startScheduler();
    time.advance(60_000);
    const down = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED');
    // The last check never runs, and has no figures.
    const waiting = new Set(Array.from({ length: 51 }, (_none, count) => `check ${count}`));
    await until('the other checks have run', async () => {
      const runs = (await lab.claim({ checkTypes: ['API', 'URL'], slots: 52 })).filter(
        ({ check }) => check.name !== 'check 51',
      );
      if (runs.length > 0) {
        await lab.report(
          runs.map((run) => {
            const number = Number(run.check.name.slice(6));
            return reportOf(run, number === 7 ? { failure: down } : { responseTimeMs: 100 + number });
          }),
        );
      }
      for (const { check } of runs) waiting.delete(check.name);
      time.advance(20);
      return waiting.size === 0;
    });
    const visitor = await loggedIn(many, 'READ_ONLY');
    const ranking = async (query: string) =>
      (await many.call('GET', `/v1/analytics/checks/ranking?${query}`)).body;
    const slowest = await ranking('by=p95&order=desc&limit=2');
    expect(slowest).toMatchObject({
      total: 52,
      entries: [
        { name: 'check 50', availability: 100, p95: 150 },
        { name: 'check 49', p95: 149 },
      ],
    });
    expect((await ranking('by=p95&page=26&limit=2')).entries).toMatchObject([
      { name: 'check 51', availability: null, p95: null },
      { name: 'check 7', availability: 0, p95: null },
    ]);
    expect((await ranking('by=availability&limit=1')).entries).toMatchObject([
      { name: 'check 7', availability: 0 },
    ]);
    expect(await ranking('by=p95&tag=tag-0&search=5')).toMatchObject({
      total: 1,
      entries: [{ name: 'check 50' }],
    });
    expect(await ranking('by=p95&withoutTag=tag-0&limit=1')).toMatchObject({ total: 26 });
    expect((await many.call('GET', '/v1/analytics/checks/ranking?by=name')).status).toBe(400);

    const sorted = async (query: string) => namesIn(await overview(`/?${query}`, visitor));
    const first = await sorted('sort=-p95');
    expect([first.length, first.slice(0, 2)]).toEqual([50, ['check 50', 'check 49']]);
    expect(await sorted('sort=-p95&page=2')).toEqual(['check 51', 'check 7']);
    expect((await sorted('sort=day'))[0]).toBe('check 7');
    expect(await overview('/?sort=day', visitor)).toMatch(/In the order of <time datetime="2026-11-22T12:01/);
    // Each group in that order, over all pages; checks without a group are last.
    const grouped = await ranking('by=p95&order=desc&byGroup=true&limit=4');
    expect(grouped.entries.map(({ name }: { name: string }) => name)).toEqual([
      ...['check 2', 'check 1', 'check 0', 'check 50'],
    ]);
    const firstOfGroups = await sorted('sort=-p95&by=group');
    expect([firstOfGroups.slice(0, 5), firstOfGroups.at(-1)]).toEqual([
      ['check 2', 'check 1', 'check 0', 'check 50', 'check 49'],
      'check 51',
    ]);
    expect(await sorted('sort=-p95&by=group&page=2')).toEqual(['check 7', 'check 3']);
    expect(await overview('/?sort=-p95&by=group', visitor)).toMatch(
      /aria-sort="descending"><a href="[^"]*">p95/,
    );
    expect((await sorted('sort=-name'))[0]).toBe('check 9');
    expect(await sorted('sort=-name&page=2')).toEqual(['check 1', 'check 0']);
    expect(await overview('/?sort=-name', visitor)).toContain('href="/?sort=-name&amp;page=2"');
  } finally {
    await many.close();
  }
});
