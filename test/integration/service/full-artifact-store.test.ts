import { expect, it } from 'vitest';
import { AppError } from '../../../src/lib/errors.ts';
import { DirectoryStore } from '../../../src/platform/artifact-store/directory-store.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { artifactOf, upload } from '../../helpers/service/artifact-upload.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  reportOf,
  TestAgent,
  temporaryFolder,
  until,
} from '../../helpers/service/service.ts';
import { loggedIn } from '../../helpers/service/visitor.ts';

it('a file that the artifact store does not accept has a reason, while it is awaited and when it is lost', async () => {
  const place = temporaryFolder();
  const clock = new ManualClock();
  const artifactStore = await DirectoryStore.open(place.path);
  const put = artifactStore.put.bind(artifactStore);
  let isFull = true;
  artifactStore.put = async (key, content, expected) => {
    if (isFull)
      throw new AppError('ARTIFACT_STORE_FULL', 'The disk of the artifact store is full. Make room there.');
    await put(key, content, expected);
  };
  const harness = await openHarness({ artifactStore, clock });
  try {
    const url = await harness.app.listen({ port: 0, host: '127.0.0.1' });
    const location = await createLocation(harness, 'lab');
    const agent = new TestAgent(harness, location);
    await agent.claim();
    const check = await createCheck(harness, { privateLocations: ['lab'] });
    await harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId: check.id } });
    const run = await until('a run', async () => (await agent.claim())[0]);
    const [one, other] = [artifactOf(), artifactOf(undefined, { name: 'trace.zip' })];
    await agent.report([reportOf(run, { artifacts: [one.reported, other.reported] })]);
    const send = ({ bytes, reported: { name } }: typeof one) =>
      upload({ url, key: location.key, run, bytes, name });
    const artifacts = async () =>
      (await harness.call('GET', `/v1/check-results/${check.id}/${run.resultId}`)).body.artifacts;
    const page = async () =>
      (await (await loggedIn(harness, 'READ_ONLY')).get(`/checks/${check.id}/runs/${run.resultId}`)).body;
    const why = 'The disk of the artifact store is full. Make room there.';
    expect([(await send(one)).status, (await send(other)).status]).toEqual([507, 507]);
    expect(await artifacts()).toMatchObject([
      { state: 'awaited', reason: why },
      { state: 'awaited', reason: why },
    ]);
    expect(await page()).toContain(`awaited: ${why}`);
    isFull = false;
    expect((await send(other)).status).toBe(200);
    harness.startLeaseSweep();
    await until('it is lost', async () => {
      clock.advance(600_000);
      return (await artifacts())[0].state === 'lost';
    });
    expect(await artifacts()).toMatchObject([
      { state: 'lost', reason: `it was not stored within an hour: ${why}` },
      { state: 'stored', reason: null },
    ]);
    expect(await page()).toContain(`lost: it was not stored within an hour: ${why}`);
  } finally {
    await harness.close();
    place.remove();
  }
});
