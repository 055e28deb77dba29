import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { artifactOf, upload } from '../../helpers/service/artifact-upload.ts';
import { openBucket } from '../../helpers/service/bucket.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  reportOf,
  TestAgent,
  temporaryFolder,
  until,
} from '../../helpers/service/service.ts';

it('does not wait for long transfers when the service stops, and leaves nothing incomplete', async () => {
  const place = temporaryFolder();
  const stopping = await openHarness({ artifactFolder: place.path });
  const address = await stopping.app.listen({ port: 0, host: '127.0.0.1' });
  const here = await createLocation(stopping, 'lab');
  const sender = new TestAgent(stopping, here);
  await sender.claim();
  stopping.startScheduler();
  const check = await createCheck(stopping, { privateLocations: ['lab'], frequency: 0, frequencyOffset: 10 });
  const run = await until(
    'a run',
    async () => (await sender.claim()).find((one) => one.check.id === check.id),
    15_000,
  );
  const one = artifactOf(randomBytes(100_000));
  await sender.report([reportOf(run, { artifacts: [one.reported] })]);
  // The last byte never arrives.
  const headers = { 'content-length': String(one.bytes.length) };
  const sending = upload({ url: address, key: here.key, run, bytes: one.bytes.subarray(1), headers });
  await until('it is incoming', () => readdirSync(join(place.path, 'incoming')).length === 1);
  await stopping.close();
  expect(await sending).toMatchObject({ status: 0 });
  expect(readdirSync(join(place.path, 'incoming'))).toEqual([]);
  expect(readdirSync(join(place.path, 'objects'))).toEqual([]);
  place.remove();
}, 180_000);

it('keeps artifacts in a bucket like in a folder', async () => {
  const place = temporaryFolder();
  const there = await openHarness({ artifactStore: await openBucket(place.path) });
  const address = await there.app.listen({ port: 0, host: '127.0.0.1' });
  const here = await createLocation(there, 'lab');
  const sender = new TestAgent(there, here);
  await sender.claim();
  there.startScheduler();
  const check = await createCheck(there, { privateLocations: ['lab'], frequency: 0, frequencyOffset: 10 });
  const run = await until(
    'a run',
    async () => (await sender.claim()).find((one) => one.check.id === check.id),
    15_000,
  );
  const one = artifactOf(randomBytes(20_000_000));
  await sender.report([reportOf(run, { artifacts: [one.reported] })]);
  const send = (more: object = {}) => upload({ url: address, key: here.key, run, bytes: one.bytes, ...more });
  const path = `${address}/v1/check-results/${check.id}/${run.resultId}/assets/screenshot.png`;
  const fetchIt = (headers = {}) =>
    fetch(path, { headers: { authorization: `Bearer ${there.key}`, ...headers } });
  for (const breakAt of [1, 5_000_000, 9_000_000, 19_999_999]) {
    expect(await send({ breakAt })).toMatchObject({ status: 0 });
    expect((await fetchIt()).status).toBe(404);
  }
  const changed = Buffer.from(one.bytes).fill(1, 19_000_000, 19_000_100);
  expect(await send({ bytes: changed })).toMatchObject({ status: 422 });
  expect((await Promise.all([send(), send()])).map(({ status }) => status)).toEqual([200, 200]);
  expect(Buffer.from(await (await fetchIt()).arrayBuffer()).equals(one.bytes)).toBe(true);
  const part = await fetchIt({ range: 'bytes=8388600-8388619' });
  expect(part.status).toBe(206);
  expect(Buffer.from(await part.arrayBuffer()).equals(one.bytes.subarray(8_388_600, 8_388_620))).toBe(true);
  await there.close();
  place.remove();
}, 180_000);
