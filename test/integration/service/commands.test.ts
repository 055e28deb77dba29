import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { failure } from '../../../src/checks/contract/failure.ts';
import { apiCommands } from '../../../src/cli/account/commands.ts';
import { ApiClient } from '../../../src/cli/api/client.ts';
import type { Shown } from '../../../src/cli/api/command.ts';
import { testCommand } from '../../../src/cli/deploy/test-command.ts';
import type { CauseMember, OpenCause } from '../../../src/service/alerts/causes/open-cause.ts';
import { createCheck, reportOf, until } from '../../helpers/service/service.ts';
import { resultRow } from '../conformance/store-suites/result-samples.ts';
import { StoreStage, sqlitePlace } from '../conformance/store-suites/stage.ts';

// Commands as users type them, against a service with a failing check and a check with missed slots.
const stage = new StoreStage(sqlitePlace);
let url: string;
beforeEach(async () => {
  await stage.start();
  url = await stage.harness.app.listen({ port: 0, host: '127.0.0.1' });
});
afterEach(() => stage.harness.app.close());

type Options = Readonly<Record<string, string | boolean | readonly string[]>>;

async function typed(line: string, options: Options = {}, key = stage.harness.key): Promise<Shown> {
  const words = line.split(' ');
  const command = apiCommands.find(({ usage }) => {
    const names = usage.split(' ').filter((word) => /^\w/.test(word));
    return names.every((name, index) => name === words[index]);
  });
  if (!command) throw new Error(`there is no command ${line}`);
  const names = command.usage.split(' ').filter((word) => /^\w/.test(word));
  const api = new ApiClient({ PICKET_URL: url, PICKET_API_KEY: key });
  return (await command.load())(api, words.slice(names.length), options);
}
const lines = async (line: string, options: Options = {}) => (await typed(line, options)).lines(80);

async function failingCheck(name = 'Shop', errorMessages: string[] = []): Promise<string> {
  const { id } = await createCheck(stage.harness, {
    ...{ name, tags: ['shop'], privateLocations: ['lab'], retryStrategy: null, doubleCheck: false },
  });
  await stage.queueNextSlot(id);
  const run = (await stage.agent.claim()).find(({ check }) => check.id === id);
  if (!run) throw new Error('nothing was leased');
  const failed = failure('CONNECTION_REFUSED', errorMessages[0] ?? 'refused');
  await stage.agent.report([reportOf(run, { failure: failed, errorMessages })]);
  return id;
}

it('shows open alerts, acknowledges them and withdraws that', async () => {
  expect(await lines('alerts')).toEqual(['No check is failing or degraded.']);
  const id = await failingCheck();
  const [titles, row] = await lines('alerts');
  expect(titles).toMatch(/^STATE\s+SINCE\s+NOTIFIED\s+CHECK\s+ID$/);
  expect(row).toMatch(new RegExp(`^FAILING .* Shop +${id.slice(0, 8)}$`));
  expect(row?.length).toBeLessThanOrEqual(80);
  expect(await lines('ack Shop', { comment: 'on it' })).toEqual([
    expect.stringMatching(/^Shop: acknowledged/),
  ]);
  expect((await typed('alerts')).json).toMatchObject({
    openAlerts: [{ checkId: id, acknowledgement: { comment: 'on it' } }],
    monitoringGaps: [],
  });
  await typed(`ack ${id}`, { undo: true });
  expect((await typed('alerts')).json).toMatchObject({ openAlerts: [{ acknowledgement: null }] });
});

it('shows causes with their checks, and checks that fail alone', async () => {
  expect(await lines('causes')).toEqual(['No check is failing or degraded.']);
  const ids = [await failingCheck('Shop'), await failingCheck('Basket'), await failingCheck('Alone')];
  const now = stage.clock.wallMs();
  const members = ['Shop', 'Basket', 'Over'].map((name, index): CauseMember => {
    const shared = { host: 'shop.test', address: null, hop: null, nameServer: null, certificate: null };
    const fact = { checkId: ids[name === 'Over' ? 3 : index] ?? 'gone', name, since: now, slotAt: now };
    return {
      fact: {
        ...{ ...fact, ...shared, intervalMs: 60_000, parentIds: [], symptom: 'unreachable' },
        ...{ fromLocation: null, egressRule: null, content: null, failedAt: ['lab'], passedAt: [] },
      },
      ...{ incident: null, alertId: `alert-${index}`, channelIds: [], joined: now, recovery: null },
      recovered: name === 'Over' ? now : null,
    };
  });
  const cause: OpenCause = {
    ...{ id: crypto.randomUUID(), kind: 'host', evidence: 'shop.test', reason: '3 checks fail together.' },
    ...{ isLocationsOwn: false, began: now, opened: now, members, notified: [], incidents: [] },
    ...{ wellSince: null, closed: null },
  };
  await stage.harness.store.alertCauses.save(stage.harness.accountId, cause, null);
  const member = (state: string, name: string, id = '') =>
    expect.stringMatching(new RegExp(`^${state} .* ${name} +${id.slice(0, 8)}`));
  expect(await lines('causes')).toEqual([
    expect.stringMatching(/^host shop\.test, .*: 3 checks fail together\.$/),
    expect.stringMatching(/^STATE +SINCE +NOTIFIED +CHECK +ID$/),
    ...[member('FAILING', 'Shop', ids[0]), member('FAILING', 'Basket', ids[1]), member('recovered', 'Over')],
    ...['', 'Separate causes', expect.stringContaining('STATE')],
    member('FAILING', 'Alone', ids[2]),
  ]);
  expect((await typed('causes')).json).toMatchObject({
    causes: [{ id: cause.id, memberCount: 3 }],
    alone: [{ name: 'Alone' }],
  });
});

it("shows the root causes of a check's errors, and accepts verdicts", async () => {
  const id = await failingCheck('Shop', ['connect ECONNREFUSED 10.0.0.5:8443']);
  expect((await lines('why Shop')).join('\n')).toContain('It has not been analysed yet.');
  stage.harness.startAnalyses();
  const shown = await until('it is looked into', async () => {
    const said = await lines('why Shop');
    return said.length > 2 ? said : undefined;
  });
  expect(shown[0]).toMatch(/^connect ECONNREFUSED <ip> \(1 run,/);
  expect(shown[1]).toContain('  Certain: 10.0.0.5:8443 refuses connections');
  const analysis = /Analysis ([0-9a-f-]{36})$/.exec(shown.at(-1) ?? '')?.[1];
  expect(await lines(`judge ${analysis} wrong`)).toEqual(['Noted: wrong.']);
  expect((await lines(`why ${id}`)).at(-1)).toContain('said to be wrong');
  await expect(lines(`judge ${analysis} perhaps`)).rejects.toThrow('Say right or wrong.');
});

it('silences, lists silences, and ends them', async () => {
  await failingCheck();
  const [said, how] = await lines('silence add', { tag: ['shop'], for: '2h', comment: 'deploying' });
  expect(said).toMatch(/^Silent until .*: tags shop$/);
  const id = how?.split(' ').at(-1) ?? '';
  expect((await lines('silence list')).join('\n')).toContain(id.slice(0, 8));
  await typed(`silence end ${id.slice(0, 8)}`);
  expect(await lines('silence list')).toEqual(['There are no silences.']);
  expect(await lines('silence add', { check: 'shop', for: '30m' })).toEqual([
    ...[expect.stringMatching(/: Shop$/), expect.any(String)],
  ]);
});

it('shows how much of a check was measured, and why the rest was not', async () => {
  // The commands request the last days by the real clock.
  stage.clock.advance(Date.now() - stage.clock.wallMs() - 12 * 60_000);
  const { id } = await createCheck(stage.harness, { name: 'Shop', privateLocations: ['lab'] });
  stage.clock.advance(10 * 60_000);
  stage.harness.startScheduler();
  await stage.advanceUntil('slots are recorded', async () => (await stage.runsOf(id)).length > 1);
  const [first, reason, , titles, row] = await lines('slots Shop', { since: '7d' });
  expect(first).toMatch(
    /^Shop, since .*: \d+ slots due, 0 completed \(0 %\), \d+ service-away, 1 in progress\.$/,
  );
  expect(reason).toContain('service-away: The service was not running');
  expect(titles).toMatch(/^DUE +LOCATION +STATE +SLOTS +REASON$/);
  expect(row).toMatch(/ lab +MISSED +\d+ +service-away$/);
});

it('lists checks, sums them up and shows runs with their failures', async () => {
  expect(await lines('status')).toEqual(['There are no checks.']);
  // The commands request the last days by the real clock.
  stage.clock.advance(Date.now() - stage.clock.wallMs());
  const id = await failingCheck();
  await createCheck(stage.harness, { name: 'Quiet', activated: false });
  expect(await lines('status')).toEqual([
    ...['2 checks: 1 failing, 1 paused.', '', expect.stringMatching(/^STATE +NAME +ID$/)],
    expect.stringMatching(new RegExp(`^failing +Shop +${id.slice(0, 8)}$`)),
  ]);
  expect((await lines('checks', { tag: ['shop'] })).slice(1)).toEqual([
    expect.stringMatching(new RegExp(`^failing +URL +Shop +${id.slice(0, 8)}$`)),
  ]);
  expect((await typed('checks', { search: 'qui' })).json).toMatchObject([{ name: 'Quiet', state: 'paused' }]);
  expect((await typed('logs Shop', { since: '1d' })).json).toMatchObject({
    results: [{ failure: { message: 'refused' } }],
  });
  expect(await lines('logs Shop', { location: 'us-east-1' })).toEqual(['Shop: no runs in that period.']);
  const bare = resultRow(id, stage.harness.accountId, stage.clock.wallMs() - 1_000, {});
  await stage.harness.store.results.insert([{ ...bare, detail: '{}', is_detail_left_out: true }]);
  expect((await lines('logs Shop')).at(-1)).toContain('The details of 1 of these runs were not stored');
  expect((await typed('logs Shop')).json).toMatchObject({
    results: [{ isDetailLeftOut: false }, { isDetailLeftOut: true, apiCheckResult: null }],
  });
});

it('pauses, resumes, mutes and unmutes a check, by the beginning of its id', async () => {
  const { id } = await createCheck(stage.harness, { name: 'Shop' });
  const stored = async () => (await stage.harness.call('GET', `/v1/checks/${id}`)).body;
  expect(await lines(`pause ${id.slice(0, 8)}`)).toEqual([expect.stringContaining('Shop is paused')]);
  expect(await stored()).toMatchObject({ activated: false });
  await typed('resume Shop');
  expect(await stored()).toMatchObject({ activated: true });
  await typed('mute Shop');
  expect(await stored()).toMatchObject({ muted: true });
  await typed('unmute Shop');
  expect(await stored()).toMatchObject({ activated: true, muted: false });
  expect(await lines('open Shop')).toEqual([`${url}/checks/${id}`]);
  expect(await lines('open')).toEqual([`${url}/`]);
  await expect(typed('pause 00000000')).rejects.toThrow('No check has "00000000" in its name');
});

it('runs a check now and waits for its results', async () => {
  await createCheck(stage.harness, {
    name: 'Shop',
    privateLocations: ['lab'],
    retryStrategy: null,
    doubleCheck: false,
  });
  const ended = typed('trigger Shop');
  let run: Awaited<ReturnType<typeof stage.agent.claim>>[number] | undefined;
  await stage.advanceUntil('the run is leased', async () => {
    [run] = await stage.agent.claim();
    return run !== undefined;
  });
  if (!run) throw new Error('nothing was leased');
  await stage.agent.report([reportOf(run, { failure: failure('CONNECTION_REFUSED', 'refused') })]);
  const { exitCode, lines: shown } = await ended;
  expect(exitCode).toBe(1);
  expect(shown(80)[1]).toMatch(/^failed +lab +Shop$/);
  expect(shown(80).at(-1)).toMatch(/^FAILED: /);
});

it('lists locations and incidents', async () => {
  const [titles, row] = await lines('locations');
  expect(titles).toMatch(/^STATE +AGENTS +VERSION +LAST SEEN +LOCATION +NAME$/);
  expect(row).toMatch(/ lab /);
  expect(await lines('incidents')).toEqual(['There are no open incidents.']);
  const { body: service } = await stage.harness.call('POST', '/v1/status-pages/services', { name: 'Cart' });
  const { body: incident } = await stage.harness.call('POST', '/v1/status-pages/incidents', {
    ...{ name: 'Cart is slow', severity: 'MINOR', services: [{ id: service.id }] },
    incidentUpdates: [{ description: 'We look into it', status: 'INVESTIGATING' }],
  });
  expect((await lines('incidents')).at(-1)).toMatch(/^investigating +minor +\S+ +Cart +Cart is slow$/);
  stage.clock.advance(60_000);
  await stage.harness.call('POST', `/v1/status-pages/incidents/${incident.id}/incident-updates`, {
    ...{ description: 'It is fast again', status: 'RESOLVED' },
  });
  expect(await lines('incidents')).toEqual(['There are no open incidents.']);
  expect((await lines('incidents', { all: true })).at(-1)).toMatch(/^resolved /);
});

it('drains a location, keeps its other settings, and ends that', async () => {
  const { body: all } = await stage.harness.call('GET', '/v1/private-locations');
  const { id } = all.find(({ slugName }: { slugName: string }) => slugName === 'lab');
  await stage.harness.call('PUT', `/v1/private-locations/${id}`, { agentSettings: { probeConcurrency: 7 } });
  const settings = async () =>
    (await stage.harness.call('GET', `/v1/private-locations/${id}`)).body.agentSettings;
  expect((await lines('drain lab')).join()).toContain('takes nothing new');
  expect(await settings()).toMatchObject({ probeConcurrency: 7, isDraining: true });
  expect((await lines('locations'))[1]).toMatch(/^\S.*, drained /);
  await lines('drain lab', { undo: true });
  expect(await settings()).toMatchObject({ probeConcurrency: 7, isDraining: false });
  await expect(lines('drain elsewhere')).rejects.toThrow('Name one of lab.');
  await stage.harness.call('PUT', `/v1/private-locations/${id}`, { agentSettings: {} });
});

it('has agents run a file that is not deployed, and says how that went', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'picket-test-'));
  const file = join(folder, 'shop.yaml');
  await writeFile(
    file,
    'checkType: URL\nname: Shop\ngroup: web\nretryStrategy: null\ndoubleCheck: false\nrequest: { url: !env SHOP }\n',
  );
  const api = new ApiClient({ PICKET_URL: url, PICKET_API_KEY: stage.harness.key });
  const test = (environment: Record<string, string>) =>
    testCommand(api, file, { location: 'lab' }, environment);
  try {
    await expect(test({})).rejects.toThrow('SHOP');
    const ended = test({ SHOP: 'https://example.com/' });
    let run: Awaited<ReturnType<typeof stage.agent.claim>>[number] | undefined;
    await stage.advanceUntil('the run is leased', async () => {
      [run] = await stage.agent.claim();
      return run !== undefined;
    });
    if (!run) throw new Error('nothing was leased');
    await stage.agent.report([reportOf(run, { failure: failure('CONNECTION_REFUSED', 'refused') })]);
    const { exitCode, lines: shown } = await ended;
    expect(exitCode).toBe(1);
    expect(shown(80)[1]).toMatch(/^failed +URL +Shop$/);
    expect(shown(80).at(-1)).toMatch(/^FAILED: /);
    await writeFile(file, 'checkType: URL\nname: Shop\n');
    await expect(test({})).rejects.toThrow('request');
  } finally {
    await rm(folder, { recursive: true });
  }
});

it('sends a test to a channel and shows the result', async () => {
  expect(await lines('channel list')).toEqual(['There are no alert channels, so no notifications are sent.']);
  const { body } = await stage.harness.call('POST', '/v1/alert-channels', {
    ...{ type: 'WEBHOOK', config: { name: 'Ops', url: 'http://169.254.169.254/', method: 'POST' } },
  });
  expect((await lines('channel list')).at(-1)).toMatch(/^\d+ +WEBHOOK +0 +Ops/);
  stage.harness.startAlerting();
  let answered: Shown | undefined;
  const test = typed(`channel test ${body.id}`).then((shown) => {
    answered = shown;
  });
  await stage.advanceUntil('the test has ended', async () => answered !== undefined);
  await test;
  expect(answered?.exitCode).toBe(1);
  expect(answered?.lines(80)[0]).toMatch(/^The test failed: /);
});

it('says in words what is wrong', async () => {
  await failingCheck('Shop one');
  await createCheck(stage.harness, { name: 'Shop two' });
  const problem = (line: string, options?: Options, key?: string) =>
    typed(line, options, key).then(
      () => 'no problem',
      (error) => [error.isBadInput, error.message],
    );
  expect(await problem('ack Shop')).toEqual([
    true,
    expect.stringMatching(/^2 checks have "Shop" in their names/),
  ]);
  expect(await problem('ack nothing')).toEqual([true, 'No check has "nothing" in its name.']);
  expect(await problem('silence add', { tag: ['a'] })).toEqual([true, expect.stringContaining('--for')]);
  expect(await problem('silence add', { for: '1h' })).toEqual([true, expect.stringContaining('--check')]);
  expect(await problem('slots Shop one', { since: '1w' })).toEqual([
    true,
    expect.stringContaining('--since'),
  ]);
  expect(await problem('alerts', {}, 'ak_wrong')).toEqual([false, expect.stringContaining('PICKET_API_KEY')]);
  await stage.harness.app.close();
  expect(await problem('alerts')).toEqual([false, expect.stringContaining('does not respond: ')]);
});
