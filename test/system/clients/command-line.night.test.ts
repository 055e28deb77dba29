import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ResultReport } from '../../../src/protocol/agent/agent.ts';
import { type ClientStage, openClientStage } from '../../helpers/clients/client-stage.ts';
import type { CommandEnd, CommandSettings } from '../../helpers/clients/command-line.ts';
import { artifactOf, upload } from '../../helpers/service/artifact-upload.ts';
import { addMember } from '../../helpers/service/members.ts';
import { createCheck, reportOf, TestAgent } from '../../helpers/service/service.ts';
import { commandOf, commandsRunIn } from './command-table.ts';

let stage: ClientStage;
/** Commands that ended as expected. */
const ran = new Set<string>();
/** Known ids by name. */
const known: Record<
  'check' | 'result' | 'errorGroup' | 'testErrorGroup' | 'channel' | 'session' | 'sessionResult',
  string
> = {
  check: '',
  result: '',
  errorGroup: '',
  testErrorGroup: '',
  channel: '',
  session: '',
  sessionResult: '',
};

beforeAll(async () => {
  stage = await openClientStage();
  await measure();
}, 300_000);

afterAll(() => stage[Symbol.asyncDispose]());

/** Creates a failed check with a file, an error group and a notified channel, and a test session. */
async function measure(): Promise<void> {
  const { harness, office, url } = stage;
  const { call } = harness;
  const agent = new TestAgent(harness, office);
  await agent.claim();
  const channel = await call('POST', '/v1/alert-channels', {
    type: 'EMAIL',
    config: { address: 'on-call@shop.example.com' },
  });
  const check = await createCheck(harness, {
    name: 'Home page',
    tags: ['shop'],
    privateLocations: ['office'],
    doubleCheck: false,
    alertChannelSubscriptions: [{ alertChannelId: channel.body.id, activated: true }],
  });
  const failing = {
    failure: { owner: 'target', code: 'CONNECTION_REFUSED', message: 'connection refused' },
    errorMessages: ['connection refused'],
  } satisfies Partial<ResultReport>;
  await call('POST', '/v1/check-sessions/trigger', { target: { checkId: check.id } });
  const [run] = await agent.claim();
  const file = artifactOf(Buffer.from('lines'), { name: 'out.log', contentType: 'text/plain' });
  if (!run) throw new Error('nothing was leased');
  expect(await agent.report([reportOf(run, { ...failing, artifacts: [file.reported] })])).toEqual([
    'accepted',
  ]);
  await upload({ url, key: office.key, run, bytes: file.bytes, name: 'out.log' });
  const started = await call('POST', '/v1/test-sessions/trigger', {
    name: 'Try the shop',
    runLocation: 'office',
    target: { checkId: check.id },
  });
  const [tried] = await agent.claim();
  if (!tried) throw new Error('nothing was leased');
  expect(await agent.report([reportOf(tried, failing)])).toEqual(['accepted']);
  const [group] = (await call('GET', `/v1/error-groups/checks/${check.id}`)).body;
  const [ofTests] = (await call('GET', '/v1/test-session-error-groups')).body;
  Object.assign(known, {
    check: check.id,
    result: run.resultId,
    errorGroup: group.id,
    testErrorGroup: ofTests.id,
    channel: String(channel.body.id),
    session: started.body.testSessionId,
    sessionResult: tried.resultId,
  });
}

async function output(...args: string[]): Promise<string> {
  return outputWith({}, ...args);
}

async function outputWith(settings: Partial<CommandSettings>, ...args: string[]): Promise<string> {
  const end = await stage.run(args, settings);
  expect(end.exitCode, `${args.join(' ')}\n${end.output}`).toBe(0);
  ran.add(commandOf(args));
  return end.stdout;
}

/** Runs a command that cannot work, and must end with a message instead of a crash. */
async function refusal(...args: string[]): Promise<CommandEnd> {
  const end = await stage.run(args);
  expect(end.output).not.toMatch(/^\s+at .+:\d+:\d+/m);
  ran.add(commandOf(args));
  return end;
}

it('shows the account, and reports an account or key that the service does not know', async () => {
  const { accountId } = stage.harness;
  expect(await output('whoami')).toContain(`You are currently on account "Test" (${accountId}) as test.`);
  expect(await output('switch', '--account-id', accountId)).toContain(`Account switched to ${accountId}`);
  expect(await output('logout', '--force')).toContain('See you soon');
  const foreign = await stage.run(['whoami'], { account: '00000000-0000-4000-8000-000000000000' });
  expect(foreign).toMatchObject({ exitCode: 1, output: expect.stringContaining('x-checkly-account') });
  const wrong = await stage.run(['whoami'], { key: 'cu_wrong' });
  expect(wrong).toMatchObject({ exitCode: 1, output: expect.stringContaining('Authentication failed') });
});

it('reads a project', async () => {
  expect(await output('validate')).toContain('Your project is valid.');
  expect(await output('debug', 'parse-project')).toContain('orders-api');
  expect(await output('debug', 'parse-file', '--file', 'src/home.spec.ts')).toContain('home.spec.ts');
});

it('lists, shows and counts checks', async () => {
  const { check, result, errorGroup } = known;
  expect(JSON.parse(await output('checks', 'list', '--tag', 'shop', '--output', 'json'))).toMatchObject({
    data: [{ id: check, name: 'Home page' }],
  });
  expect(await output('checks', 'list', '--tag', 'another')).not.toContain('Home page');
  expect(await output('checks', 'get', check)).toContain('Home page');
  expect(await output('checks', 'get', check, '--result', result)).toContain('failing');
  expect(await output('checks', 'get', check, '--error-group', errorGroup)).toContain('connection refused');
  expect(await output('checks', 'stats', '--range', 'last7Days')).toContain('Home page');
});

it('deletes a check', async () => {
  const { id } = await createCheck(stage.harness, { name: 'Old page' });
  await output('checks', 'delete', id, '--force');
  expect((await stage.harness.call('GET', `/v1/checks/${id}`)).status).toBe(404);
});

it('runs checks', async () => {
  expect(await output('checks', 'run', '--check-id', known.check, '--detach')).toContain('Home page');
  const agent = new TestAgent(stage.harness, stage.office);
  const [detached] = await agent.claim();
  if (!detached) throw new Error('nothing was leased');
  await agent.report([reportOf(detached)]);
  const waiting = output('checks', 'run', '--check-id', known.check);
  const [run] = await agent.claim({ waitMs: 20_000 });
  if (!run) throw new Error('nothing was leased');
  await agent.report([reportOf(run)]);
  expect(await waiting).toContain('Home page');
});

it('adds, shows, pulls, changes and removes variables', async () => {
  await output('env', 'add', 'SHOP_URL', 'https://shop.example.com');
  await output('env', 'add', 'SHOP_TOKEN', 'sesame', '--locked');
  expect(await output('env', 'ls')).toContain('SHOP_URL=https://shop.example.com');
  await output('env', 'update', 'SHOP_URL', 'https://new.shop.example.com');
  await output('env', 'pull', 'shop.env', '--force');
  expect(readFileSync(join(stage.projectFolder, 'shop.env'), 'utf8')).toContain(
    'SHOP_URL=https://new.shop.example.com',
  );
  await output('env', 'rm', 'SHOP_URL', '--force');
  expect((await stage.harness.call('GET', '/v1/variables/SHOP_URL')).status).toBe(404);
});

it('shows channels and their notifications', async () => {
  expect(await output('alert-channels', 'list')).toContain('on-call@shop.example.com');
  expect(await output('alert-channels', 'get', known.channel)).toContain('on-call@shop.example.com');
  expect(await output('alert-channels', 'logs', known.channel)).toContain('Home page');
});

it('shows status pages, and opens, updates and resolves an incident', async () => {
  const { call } = stage.harness;
  const service = (await call('POST', '/v1/status-pages/services', { name: 'Checkout' })).body;
  const cards = [{ name: 'Shop', services: [{ id: service.id }] }];
  const page = (await call('POST', '/v1/status-pages', { name: 'Shop status', url: 'shop', cards })).body;
  expect(await output('status-pages', 'list')).toContain('Shop status');
  expect(await output('status-pages', 'get', page.id)).toContain('Checkout');
  const created = ['--status-page-id', page.id, '--title', 'Slow', '--services', service.id, '--force'];
  const incident = JSON.parse(await output('incidents', 'create', ...created, '--output', 'json'));
  expect(await output('incidents', 'list')).toContain('Slow');
  await output('incidents', 'update', incident.id, '--message', 'Found it', '--severity', 'major', '--force');
  await output('incidents', 'resolve', incident.id, '--force');
  expect((await call('GET', `/v1/status-pages/incidents/${incident.id}`)).body).toMatchObject({
    severity: 'MAJOR',
    lastUpdateStatus: 'RESOLVED',
  });
});

it('shows test sessions', async () => {
  const sessions = await output('test-sessions', 'list', '--status', 'failed');
  expect(sessions).toContain('Try the shop');
  expect(sessions).toContain(known.session);
  expect(await output('test-sessions', 'get', known.session)).toContain('Home page');
  const one = await output('test-sessions', 'get', known.session, '--result', known.sessionResult);
  expect(one).toContain('failing');
});

it('lists and downloads files of results', async () => {
  const of = ['--check-id', known.check, '--result-id', known.result];
  expect(await output('assets', 'list', ...of)).toContain('out.log');
  await output('assets', 'download', ...of, '--type', 'log', '--dir', 'files');
  expect(readFileSync(join(stage.projectFolder, 'files', 'out.log'), 'utf8')).toBe('lines');
});

it('shows, changes and removes members', async () => {
  await addMember(stage.harness, 'ann@shop.example.com', 'ADMIN');
  await addMember(stage.harness, 'bob@shop.example.com', 'READ_ONLY');
  expect(await output('members')).toContain('bob@shop.example.com');
  const bob = ['--email', 'bob@shop.example.com'];
  await output('members', 'update', ...bob, '--role', 'read_write', '--force');
  expect(await output('members', '--role', 'read_write')).toContain('bob@shop.example.com');
  await output('members', 'delete', ...bob, '--force');
  expect(await output('members')).not.toContain('bob@shop.example.com');
});

it('shows the account and its limits', async () => {
  expect(await output('account', 'plan')).toContain('Self-hosted');
  expect(await output('account', 'plan', 'CHECK_TYPE_ICMP')).toContain('ICMP monitor');
  expect(await output('runtimes')).toContain('2026.04');
});

it('requests anything by its path', async () => {
  expect(JSON.parse(await output('api', '/v1/checks'))).toMatchObject([{ id: known.check }]);
});

it('needs no service for local commands', async () => {
  const file = (path: string) => join(stage.projectFolder, path);
  await output('help');
  await output('skills');
  await output('rules');
  await output('skills', 'install', '--path', 'skill', '--force');
  expect(existsSync(file('skill/SKILL.md'))).toBe(true);
  expect(await output('init')).toContain('skills install');
  writeFileSync(
    file('playwright.config.ts'),
    `export default { testDir: './src', use: { locale: 'de-DE' } };\n`,
  );
  expect(await output('debug', 'parse-playwright-config')).toContain('home.spec.ts');
  await output('sync-playwright');
  expect(readFileSync(file('checkly.config.ts'), 'utf8')).toMatch(/playwrightConfig[\s\S]*de-DE/);
});

it('finds root causes, and shows them', async () => {
  const { check, errorGroup, testErrorGroup } = known;
  const context = ['--user-context', 'after the move'];
  const started = await output('rca', 'run', '--error-group', errorGroup, ...context, '--output', 'json');
  const { id, status } = JSON.parse(started) as { id: string; status: string };
  expect(status).toBe('pending');
  stage.harness.startAnalyses();
  const watched = await output('rca', 'get', id, '--watch');
  expect(watched).toContain('INFRASTRUCTURE_ERROR');
  expect(watched).toContain('refuses connections');
  expect(await output('rca', 'get', id, '--output', 'md')).toContain('## Root Cause Analysis');
  const ofTests = await output('rca', 'run', '--test-session-error-group', testErrorGroup, '--watch');
  expect(ofTests).toContain('refuses connections');
  expect(await output('checks', 'get', check, '--error-group', errorGroup)).toContain('refuses connections');
  const unknown = await refusal('rca', 'run', '--error-group', check);
  expect(unknown).toMatchObject({ exitCode: 1, output: expect.stringContaining('not found') });
});

it('reports what a self-hosted service does not have', async () => {
  for (const what of ['terms', 'summary', 'series']) {
    const end = await refusal('account', 'usage', what);
    expect(end).toMatchObject({ exitCode: 1, output: expect.stringContaining('No usage terms cover') });
  }
  const login = (await refusal('login')).output.replaceAll(/\s+[›]?\s*/g, ' ');
  expect(login).toContain('You must delete them to use `npx checkly login`');
});

it('has run each command that the table says is run here', () => {
  expect([...ran].sort()).toEqual(commandsRunIn('command-line.test.ts'));
});
