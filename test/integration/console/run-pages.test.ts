import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { failure } from '../../../src/checks/contract/failure.ts';
import { httpDetail } from '../../helpers/console/http-detail.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { program } from '../../helpers/program.ts';
import { artifactOf, upload } from '../../helpers/service/artifact-upload.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
  temporaryFolder,
  until,
} from '../../helpers/service/service.ts';
import { loggedIn, Visitor } from '../../helpers/service/visitor.ts';
import { listen } from '../../helpers/targets/listening.ts';
import { resultRow } from '../conformance/store-suites/result-samples.ts';

const run = promisify(execFile);
let harness: ServiceHarness;
let visitor: Visitor;
beforeAll(async () => {
  harness = await openHarness();
  visitor = new Visitor(harness.app);
  await visitor.post('/login', { key: harness.key });
});
afterAll(() => harness.close());

const textOf = (body: string) => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

it('a check is copied as a file that `picket run` runs, without values that the service does not show', async () => {
  const asked: unknown[] = [];
  const server = createServer((request, response) => {
    const { url, headers } = request;
    asked.push([url, headers['x-token'], headers['x-shop']]);
    response.setHeader('content-type', 'application/json').end('{"open": true}');
  });
  await using target = await listen(server, { scheme: 'http' });
  await harness.call('POST', '/v1/variables', { key: 'SHOP_PATH', value: 'front' });
  await harness.call('POST', '/v1/variables', { key: 'NOT_NAMED', value: 'x' });
  const { body: group } = await harness.call('POST', '/v1/check-groups', {
    name: 'group',
    environmentVariables: [{ key: 'SHOP', value: 'from the group' }],
  });
  const { body: check } = await harness.call('POST', '/v1/checks/api', {
    name: 'Shop: "quoted" # and: more',
    groupId: group.id,
    tags: ['a'],
    environmentVariables: [{ key: 'TOKEN', value: 'hush-hush', secret: true }],
    request: {
      url: `${target.url}/{{SHOP_PATH}}`,
      headers: [
        { key: 'x-token', value: '{{TOKEN}}' },
        { key: 'x-shop', value: '{{SHOP}}' },
      ],
      assertions: [{ source: 'JSON_BODY', property: '$.open', comparison: 'EQUALS', target: 'true' }],
    },
  });
  const page = await visitor.get(`/checks/${check.id}/file`);
  expect(textOf(page.body)).toContain('picket run check.yaml --env TOKEN=…');
  const file = await visitor.get(`/checks/${check.id}/file/check.yaml`);
  expect(file.headers).toMatchObject({ 'content-disposition': 'attachment; filename="check.yaml"' });
  expect(file.body).not.toMatch(/hush|NOT_NAMED|frequency|alertSettings|privateLocations|followRedirects/);

  const folder = temporaryFolder();
  const path = join(folder.path, 'check.yaml');
  writeFileSync(path, file.body);
  const { stdout } = await run(process.execPath, [
    program,
    'run',
    path,
    '--json',
    '--env',
    'TOKEN=mine',
  ]).catch((thrown: { stdout: string; stderr: string }) => thrown);
  folder.remove();
  expect(JSON.parse(stdout)).toMatchObject({
    failure: null,
    verdict: 'PASSED',
    name: 'Shop: "quoted" # and: more',
  });
  expect(asked).toEqual([['/front', 'mine', 'from the group']]);
});

it('checks that call in by themselves have no run button', async () => {
  const { body: check } = await harness.call('POST', '/v1/checks/heartbeat', {
    name: 'job',
    heartbeat: { period: 1, periodUnit: 'minutes', grace: 10, graceUnit: 'seconds' },
  });
  expect((await visitor.get(`/checks/${check.id}/file`)).status).toBe(404);
});

it('a failed run is compared with the last one that passed', async () => {
  const location = await createLocation(harness, 'lab');
  const agent = new TestAgent(harness, location);
  await agent.claim();
  const check = await createCheck(harness, { privateLocations: ['lab'] });
  const runNow = async (fields: Parameters<typeof reportOf>[1]) => {
    await harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId: check.id } });
    const [leased] = await agent.claim();
    if (!leased) throw new Error('nothing to run');
    await agent.report([reportOf(leased, fields)]);
    return leased.resultId;
  };
  const passed = await runNow({ detail: httpDetail({ text: 'all is well' }) });
  const failed = await runNow({
    detail: httpDetail({ text: 'all is lost', status: 503 }),
    failure: failure('STATUS_UNEXPECTED', 'Unexpected status 503'),
  });
  const run = await visitor.get(`/checks/${check.id}/runs/${failed}`);
  expect(run.body).toContain(`/checks/${check.id}/runs/${failed}/compare`);
  const { status, body } = await visitor.get(`/checks/${check.id}/runs/${failed}/compare`);
  expect(status).toBe(200);
  const [different = ''] = body.split('<details>');
  expect(textOf(different)).toMatch(/Response 200 all is well 503 all is lost/);
  expect(textOf(different)).toMatch(/Line 1 all is well all is lost/);
  expect(body).toContain(`/checks/${check.id}/runs/${passed}`);
  const none = await visitor.get(`/checks/${check.id}/runs/${passed}/compare`);
  expect(textOf(none.body)).toContain('no run to compare with');
});

it('a failed run shows its root cause, which is judged and analysed again', async () => {
  const agent = new TestAgent(harness, await createLocation(harness, 'yard'));
  await agent.claim();
  const once = { retryStrategy: null, doubleCheck: false };
  const check = await createCheck(harness, { privateLocations: ['yard'], ...once });
  await harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId: check.id } });
  const [leased] = await agent.claim();
  if (!leased) throw new Error('nothing to run');
  const message = 'connect ECONNREFUSED 10.0.0.5:8443';
  const failed = failure('CONNECTION_REFUSED', message);
  await agent.report([reportOf(leased, { failure: failed, errorMessages: [message] })]);
  const page = `/checks/${check.id}/runs/${leased.resultId}`;
  expect(textOf((await visitor.get(page)).body)).toContain('The cause has not been analysed yet');
  harness.startAnalyses();
  const shown = await until('it is looked into', async () => {
    const { body } = await visitor.get(page);
    return body.includes('refuses connections') ? body : undefined;
  });
  expect(textOf(shown)).toContain('Next step');
  // The verdict names the cause, too, and leads to it.
  const [, verdict = ''] = /<div class="verdict([\s\S]*?)<\/dl>/.exec(shown) ?? [];
  expect(textOf(verdict)).toMatch(/refused the connection.* Cause: .*refuses connections/);
  expect(verdict).toContain('href="#root-cause"');
  const csrf = await visitor.csrf(page);
  const judging = /action="([^"]*root-cause\/[^"]*)"/.exec(shown)?.[1] ?? '';
  expect((await visitor.post(judging, { csrf, verdict: 'WRONG' })).status).toBe(303);
  expect(textOf((await visitor.get(page)).body)).toContain('Marked as wrong');
  expect((await visitor.post(`${page}/root-cause`, { csrf })).status).toBe(303);
  const analysed = await until('it is looked into again', async () => {
    const [group] = (await harness.call('GET', `/v1/error-groups/checks/${check.id}`)).body;
    return group.rootCauseAnalyses.length === 2;
  });
  expect(analysed).toBe(true);
  expect(textOf((await visitor.get(`/checks/${check.id}`)).body)).toContain('refuses connections');
});

it('a run shows no cause of another run with a similar error in which something else failed', async () => {
  const agent = new TestAgent(harness, await createLocation(harness, 'mill'));
  await agent.claim();
  const once = { retryStrategy: null, doubleCheck: false };
  const check = await createCheck(harness, { privateLocations: ['mill'], ...once });
  /** The page of a run that fails with this message. */
  const failsBy = async (message: string) => {
    await harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId: check.id } });
    const [leased] = await agent.claim();
    if (!leased) throw new Error('nothing to run');
    const failed = failure('SCRIPT_FAILED', message);
    await agent.report([reportOf(leased, { failure: failed, errorMessages: [message] })]);
    return `/checks/${check.id}/runs/${leased.resultId}`;
  };
  const silent = await failsBy('TypeError: fetch failed: connect ETIMEDOUT 192.0.2.7:443');
  const shown = await until('it is looked into', async () => {
    const body = textOf((await visitor.get(silent)).body);
    return body.includes('does not respond at all') ? body : undefined;
  });
  expect(shown).toContain('Failed part: the target, or the network path to it.');
  expect(shown).toContain('Kind the host of the target, or the network path to it');
  const refused = textOf(
    (await visitor.get(await failsBy('TypeError: fetch failed: connect ECONNREFUSED 192.0.2.7:443'))).body,
  );
  const groups = await harness.call('GET', `/v1/error-groups/checks/${check.id}`);
  expect(groups.body).toHaveLength(1);
  expect(refused).toContain('Failed part: the target.');
  expect(refused).not.toContain('does not respond at all');
  expect(refused).toContain(
    'analysed in a run where another part failed: the target, or the network path to it.',
  );
});

it('a cause that was found in a run with another message says so', async () => {
  const agent = new TestAgent(harness, await createLocation(harness, 'dock'));
  await agent.claim();
  const once = { retryStrategy: null, doubleCheck: false };
  const check = await createCheck(harness, { privateLocations: ['dock'], ...once });
  const failsBy = async (message: string) => {
    await harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId: check.id } });
    const [leased] = await agent.claim();
    if (!leased) throw new Error('nothing to run');
    const failed = failure('CONNECTION_REFUSED', message);
    await agent.report([reportOf(leased, { failure: failed, errorMessages: [message] })]);
    return `/checks/${check.id}/runs/${leased.resultId}`;
  };
  const first = await failsBy('connect ECONNREFUSED 10.0.0.7:8443');
  const shown = await until('it is looked into', async () => {
    const body = textOf((await visitor.get(first)).body);
    return body.includes('refuses connections') ? body : undefined;
  });
  expect(shown).not.toContain('Found in a run with a similar error');
  const other = textOf((await visitor.get(await failsBy('connect ECONNREFUSED 10.0.0.8:8443'))).body);
  expect(other).toMatch(/Found in a run with a similar error: .*10\.0\.0\.7:8443/);
});

it('offers the evidence that a run has, and says why it has no other', async () => {
  const check = await createCheck(harness, { name: 'Offers', activated: false });
  const now = Date.now();
  const detail = httpDetail();
  const hidden = { ...detail.request, headers: { Authorization: '*********' }, data: '' };
  const row = (fields: object) => ({
    ...resultRow(check.id, harness.accountId, now, {}),
    detail: JSON.stringify({ ...detail, request: hidden }),
    ...fields,
  });
  const fails = (code: string) => ({ has_failures: 1, owner: 'TARGET', code, message: 'a\nb' });
  const rows = [row({}), row(fails('CONNECTION_REFUSED')), row(fails('STATUS_UNEXPECTED'))];
  await harness.store.results.insert(rows);
  const [passed = '', refused = '', status = ''] = await Promise.all(
    rows.map(async ({ id }) => (await visitor.get(`/checks/${check.id}/runs/${id}`)).body),
  );
  const barOf = (body: string) => textOf(/<nav class="evidence"[\s\S]*?<\/nav>/.exec(body)?.[0] ?? '');
  expect(barOf(passed)).toMatch(/^ Certificate Log No capture and no route: agents make them when/);
  expect(barOf(refused)).toMatch(/^ Certificate Log No capture and no route: the log says why\. $/);
  expect(barOf(status)).toMatch(/agents make them when the connection to the target fails/);
  for (const body of [passed, refused, status])
    expect(barOf(body)).not.toMatch(/Trace|Video|Screenshots|HTML/);
  expect(passed).toContain('curl &#39;http://target.test/&#39; -H &#39;Authorization: *********&#39;');
  expect(textOf(passed)).toContain('Replace ********* by the secrets');
  expect(textOf(refused)).toMatch(/Whole error a b/);
});

it('a slot in progress leads to its run, whose files appear once the agent has sent them', async () => {
  const clock = new ManualClock(Date.UTC(2026, 10, 22, 12));
  const own = await openHarness({ clock });
  const watcher = await loggedIn(own);
  const location = await createLocation(own, 'quay');
  const agent = new TestAgent(own, location);
  const check = await createCheck(own, { frequency: 1, privateLocations: ['quay'] });
  own.startScheduler();
  clock.advance(60_000);
  const leased = await until('the slot is due', async () => {
    const [run] = await agent.claim();
    if (!run) clock.advance(20);
    return run;
  });
  const slot = `/checks/${check.id}/slots/${leased.runId}?at=${leased.slotAt}`;
  const running = (await watcher.get(slot)).body;
  expect(textOf(running)).toContain('An agent is running the check');
  expect(running).toContain('data-unfinished');
  const { bytes, reported } = artifactOf(Buffer.from('captured'), {
    ...{ name: 'network.pcap', contentType: 'application/vnd.tcpdump.pcap' },
  });
  await agent.report([reportOf(leased, { detail: httpDetail(), artifacts: [reported] })]);
  const run = `/checks/${check.id}/runs/${leased.resultId}`;
  expect((await watcher.get(slot)).headers['location']).toBe(run);
  const arriving = (await watcher.get(run)).body;
  expect(arriving).toContain('data-unfinished');
  expect(textOf(arriving)).toContain('1 file not stored yet');
  const url = await own.app.listen({ port: 0, host: '127.0.0.1' });
  const sent = await upload({ url, key: location.key, run: leased, name: reported.name, bytes });
  expect(sent.status).toBe(200);
  const { body } = await watcher.get(run);
  expect(body).not.toContain('data-unfinished');
  expect(body).toMatch(/<nav class="evidence"[\s\S]*network\.pcap"[\s\S]*Capture/);
  await own.close();
});

it('a failed run of a test session is analysed on request, and its root cause is judged', async () => {
  const agent = new TestAgent(harness, await createLocation(harness, 'barn'));
  await agent.claim();
  const check = await createCheck(harness, { privateLocations: ['barn'] });
  const { body: session } = await harness.call('POST', '/v1/test-sessions/trigger', {
    ...{ name: 'trial', runLocation: 'barn', target: { checkId: [check.id] } },
  });
  const [leased] = await agent.claim();
  if (!leased) throw new Error('nothing to run');
  const message = 'connect ECONNREFUSED 10.0.0.6:8443';
  const failed = failure('CONNECTION_REFUSED', message);
  await agent.report([reportOf(leased, { failure: failed, errorMessages: [message] })]);
  const page = `/sessions/tests/${session.testSessionId}/results/${leased.resultId}`;
  const csrf = await visitor.csrf(page);
  expect((await visitor.post(`${page}/root-cause`, { csrf })).headers.location).toBe(page);
  harness.startAnalyses();
  const result = `/v1/test-sessions/${session.testSessionId}/results/${leased.resultId}`;
  const { errorGroupIds } = (await harness.call('GET', result)).body;
  await until('it is looked into: by itself, and because somebody asked', async () => {
    const analyses = await harness.store.analyses.ofGroups(errorGroupIds);
    return analyses.get(errorGroupIds[0])?.length === 2;
  });
  const { body: shown } = await visitor.get(page);
  expect(shown).toContain('refuses connections');
  const judging = /action="([^"]*root-cause\/[^"]*)"/.exec(shown)?.[1] ?? '';
  expect((await visitor.post(judging, { csrf, verdict: 'RIGHT' })).headers.location).toBe(page);
  expect(textOf((await visitor.get(page)).body)).toContain('Marked as right');
});

it('a run whose detail was not kept says so, and comparisons use the last pass that has one', async () => {
  const check = await createCheck(harness, { name: 'Sparse', activated: false });
  const now = Date.now();
  const row = (minutes: number, fields: object) => ({
    ...resultRow(check.id, harness.accountId, now - minutes * 60_000, {}),
    detail: JSON.stringify(httpDetail()),
    ...fields,
  });
  const whole = row(60, {});
  const bare = Array.from({ length: 30 }, (_none, index) => row(30 - index, { is_detail_left_out: true }));
  const failed = row(0, { has_failures: 1, owner: 'TARGET', code: 'CONNECTION_REFUSED', message: 'refused' });
  await harness.store.results.insert([whole, ...bare, failed]);
  const said = 'The details of this run were not kept';
  const bareId = bare.at(-1)?.id;
  expect(textOf((await visitor.get(`/checks/${check.id}/runs/${bareId}`)).body)).toContain(said);
  const page = await visitor.get(`/checks/${check.id}/runs/${failed.id}`);
  expect(textOf(page.body)).not.toContain(said);
  expect(page.body).toContain(`/checks/${check.id}/runs/${whole.id}`);
  const compared = await visitor.get(`/checks/${check.id}/runs/${failed.id}/compare`);
  expect(compared.body).toContain(`/checks/${check.id}/runs/${whole.id}`);
  expect(textOf(compared.body)).not.toContain(said);
  const withBare = await visitor.get(`/checks/${check.id}/runs/${failed.id}/compare?with=${bareId}`);
  expect(textOf(withBare.body)).toContain(said);
});
