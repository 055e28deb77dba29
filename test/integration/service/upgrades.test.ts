import { expect, it } from 'vitest';
import { isNight } from '../../helpers/night.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';
import { readEverything, readPages } from '../../helpers/service/upgrades/read-everything.ts';
import { readRecordedStore, recordedStores } from '../../helpers/service/upgrades/recorded-store.ts';
import { differences, shapesOfThisBuild } from '../../helpers/service/upgrades/shapes.ts';
import { upgradeSqlite } from '../../helpers/service/upgrades/upgraded-store.ts';

it('cover the stored shapes of this build: a change is recorded', () => {
  const newest = recordedStores().at(-1) ?? '';
  const { shapes = {} } = readRecordedStore(newest);
  expect(
    differences(shapes, shapesOfThisBuild()),
    `stored otherwise than in ${newest}; record one of everything by
    node scripts/setup.mjs scripts/record-upgrade-store.ts . "$(date -u +%Y-%m-%d-%H%M)-$(git rev-parse --short=7 HEAD)"`,
  ).toEqual([]);
});

it.each(isNight ? recordedStores() : recordedStores().slice(-1))(
  'shows everything that %s stored in SQLite',
  async (name) => {
    const folder = temporaryFolder();
    const recorded = readRecordedStore(name);
    const harness = await upgradeSqlite(recorded, folder.path);
    const accountId = String(recorded.tables.accounts?.[0]?.id);
    const api = await readEverything(harness, accountId, recorded.known);
    const pages = await readPages(harness, accountId, api.known);
    await harness.close();
    folder.remove();
    expect([...api.problems, ...pages.problems]).toEqual([]);
    expect(api.answered).toBeGreaterThan(60);
    expect(pages.answered).toBeGreaterThan(20);
  },
);
