import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { noAgentSettings } from '../../../src/protocol/agent/agent-settings.ts';
import {
  createLocation,
  openHarness,
  type ServiceHarness,
  TestAgent,
  until,
} from '../../helpers/service/service.ts';
import { loggedIn } from '../../helpers/service/visitor.ts';
import { blocksOf } from '../../system/docs/command-blocks.ts';

let harness: ServiceHarness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());

const put = (id: string, body: unknown) => harness.call('PUT', `/v1/private-locations/${id}`, body);
const asked = { ...noAgentSettings, checkTypes: ['URL'], probeConcurrency: 3, logLevel: 'warn' };

it('reach agents with their next claim, at once if one waits, and last until they are changed', async () => {
  const location = await createLocation(harness, 'told');
  const agent = new TestAgent(harness, location);
  const settingsOf = async (waitMs: number) =>
    (await agent.call('claims', agent.claimBody({ waitMs }))).body.settings;
  expect(await settingsOf(0)).toBeNull();
  let answered: unknown = 'nothing';
  const waiting = settingsOf(30_000).then((settings) => {
    answered = settings;
  });
  // The service ends a poll only once it waits.
  await until('the poll ends', async () => {
    await put(location.id, { agentSettings: asked });
    return answered !== 'nothing';
  });
  await waiting;
  expect(answered).toMatchObject(asked);
  // Other changes leave them alone.
  await put(location.id, { name: 'Told' });
  const { revision, ...known } = await settingsOf(0);
  expect(known).toEqual(asked);
  // A poll of an agent that does not know them ends at once.
  const behind = agent.claimBody({ waitMs: 30_000, settings: { logLevel: 'info', isDraining: false } });
  expect((await agent.call('claims', behind)).body.settings).toEqual({ ...asked, revision });
  const { body } = await put(location.id, { agentSettings: {} });
  expect(body.agentSettings).toEqual(noAgentSettings);
  expect(await settingsOf(0)).toBeNull();
});

it('are refused where no agent could apply them', async () => {
  const { id } = await createLocation(harness, 'refused');
  for (const wrong of [
    { checkTypes: ['HEARTBEAT'] },
    { probeConcurrency: 0 },
    { scriptConcurrency: 11 },
    { logLevel: 'loud' },
    { isDraining: 'yes' },
    { lanes: 3 },
  ])
    expect((await put(id, { agentSettings: wrong })).status, JSON.stringify(wrong)).toBe(400);
});

it('are shown with what each agent makes of them', async () => {
  const location = await createLocation(harness, 'shown');
  await put(location.id, { agentSettings: { ...asked, isDraining: true } });
  await new TestAgent(harness, location, 'new-1').claim({
    settings: { logLevel: 'warn', isDraining: true, revision: 'abc' },
  });
  await new TestAgent(harness, location, 'old-1').claim();
  const { body } = await harness.call('GET', `/v1/private-locations/${location.id}/agents`);
  const settings = Object.fromEntries(
    body.agents.map((agent: { id: string; settings: unknown }) => [agent.id, agent.settings]),
  );
  expect(settings).toEqual({
    'new-1': { logLevel: 'warn', isDraining: true, revision: 'abc' },
    'old-1': null,
  });
  const page = (await (await loggedIn(harness)).get(`/locations/${location.id}`)).body;
  expect(page).toContain(
    'take no new runs; run only URL monitor; at most 3 probe checks at the same time; log level warn',
  );
  expect(page).toMatch(/new-1[\s\S]*Draining/);
  expect(page).toMatch(/old-1[\s\S]*Ignores settings/);
});

it('can be set in the browser and in files, as the documents show', async () => {
  const [example] = blocksOf('docs/how-to/agent-settings.md');
  const fields = parse(example?.text ?? '');
  const { body: made, status } = await harness.call('POST', '/v1/private-locations', fields);
  expect([status, made.agentSettings]).toEqual([201, { ...noAgentSettings, ...fields.agentSettings }]);
  const visitor = await loggedIn(harness);
  const edit = `/locations/${made.id}/edit`;
  const page = (await visitor.get(edit)).body;
  expect(page).toMatch(/name="agentSettings\.probeConcurrency"[^>]*value="20"/);
  const csrf = await visitor.csrf(edit);
  const { status: saved } = await visitor.post(edit, {
    ...{ csrf, name: 'Office', 'agentSettings.checkTypes': 'DNS', 'agentSettings.logLevel': 'error' },
  });
  expect(saved).toBeLessThan(400);
  const stored = async () =>
    (await harness.call('GET', `/v1/private-locations/${made.id}`)).body.agentSettings;
  expect(await stored()).toEqual({ ...noAgentSettings, checkTypes: ['DNS'], logLevel: 'error' });
  await visitor.post(edit, { csrf: await visitor.csrf(edit), name: 'Office' });
  expect(await stored()).toEqual(noAgentSettings);
});
