import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Store } from '../../../src/platform/store/store.ts';
import { openStore } from '../../../src/server/compose.ts';
import { quietLogger, temporaryFolder } from '../../helpers/service/service.ts';
import { resultRow } from '../conformance/store-suites/result-samples.ts';

let folder: ReturnType<typeof temporaryFolder>;
let path: string;
let store: Store;
beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder.path, 'picket.sqlite');
});
afterEach(() => folder.remove());

const open = async () => {
  store = await openStore({ path, logger: quietLogger });
};
const sizeBytes = () => statSync(path).size;

async function fill(): Promise<string[]> {
  const rows = Array.from({ length: 12_000 }, (_, index) => ({
    ...resultRow('check', 'account', index, {}),
    // Content that hardly compresses.
    detail: JSON.stringify(randomBytes(2_250).toString('base64')),
  }));
  await store.transaction(({ results }) => results.insert(rows));
  return rows.map(({ id }) => id);
}

it('releases the space of removed results, a little at a time', async () => {
  await open();
  const ids = await fill();
  await store.close();
  const full = sizeBytes();
  await open();
  await store.transaction(({ retired }) => retired.removeResults('results', ids));
  let steps = 0;
  while (await store.retired.giveBackSpace()) steps += 1;
  expect(steps).toBeGreaterThan(3);
  // Not one page at a time: at 50 steps a second that would be slower than the inserts.
  expect(steps).toBeLessThan(100);
  await store.close();
  expect(sizeBytes()).toBeLessThan(full / 3);
});

it('enables that in a database of an older build', async () => {
  await open();
  await store.close();
  const database = new DatabaseSync(path);
  database.exec('pragma auto_vacuum = none; vacuum');
  database.close();
  await open();
  await store.close();
  const after = new DatabaseSync(path);
  expect(after.prepare('pragma auto_vacuum').get()).toEqual({ auto_vacuum: 2 });
  after.close();
});
