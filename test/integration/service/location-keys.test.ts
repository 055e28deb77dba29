import { afterEach, beforeEach, expect, it } from 'vitest';
import { ManualClock } from '../../helpers/manual-clock.ts';
import {
  createLocation,
  openHarness,
  type ServiceHarness,
  TestAgent,
  type TestLocation,
} from '../../helpers/service/service.ts';

let harness: ServiceHarness;
let location: TestLocation;
const clock = new ManualClock();
beforeEach(async () => {
  harness = await openHarness({ clock });
  location = await createLocation(harness, 'lab');
});
afterEach(async () => await harness.close());

const path = () => `/v1/private-locations/${location.id}`;
const shown = async () => (await harness.call('GET', path())).body;

it('shows when each key was last used, and by which agents', async () => {
  clock.advance(1000);
  const second = await harness.call('POST', `${path()}/keys`);
  expect(second.body).toMatchObject({ lastUsedAt: null, agents: [] });
  const [oldKey, newKey] = (await shown()).keys.map(({ id }: { id: string }) => id);
  const old = new TestAgent(harness, location, 'old');
  const renewed = new TestAgent(harness, { ...location, key: second.body.rawKey }, 'renewed');
  await old.claim();
  await renewed.claim();
  const { keys, runningAgents } = await shown();
  expect(keys).toMatchObject([
    { id: oldKey, agents: ['old'], lastUsedAt: new Date(clock.wallMs()).toISOString() },
    { id: newKey, agents: ['renewed'] },
  ]);
  const byId = new Map(
    runningAgents[0].agents.map(({ id, keyId }: { id: string; keyId: string }) => [id, keyId]),
  );
  expect(byId).toEqual(
    new Map([
      ['old', oldKey],
      ['renewed', newKey],
    ]),
  );
  // An agent with the new key counts for that key only, and the last use of an old key is still shown.
  const usedAt = keys[0].lastUsedAt;
  clock.advance(10 * 86_400_000);
  await renewed.claim();
  expect((await shown()).keys).toMatchObject([{ agents: [], lastUsedAt: usedAt }, { agents: ['renewed'] }]);
});

it('revokes the last key under running agents only by force, and these count as gone at once', async () => {
  const [key] = (await shown()).keys;
  const remove = (id: string, query = '') => harness.call('DELETE', `${path()}/keys/${id}${query}`);
  await new TestAgent(harness, location).claim();
  const refused = await remove(key.id);
  expect([refused.status, refused.body.message]).toEqual([409, expect.stringContaining('force=true')]);
  const second = await harness.call('POST', `${path()}/keys`);
  expect((await remove(second.body.id)).status).toBe(204);
  expect((await shown()).agentCount).toBe(1);
  expect((await remove(key.id, '?force=true')).status).toBe(204);
  expect(await shown()).toMatchObject({ keys: [], agentCount: 0 });
  const next = await harness.call('POST', `${path()}/keys`);
  expect((await remove(next.body.id)).status).toBe(204);
  expect((await remove(next.body.id)).status).toBe(404);
});
