import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AgentProcess } from '../../helpers/agent/agent-process.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';

// One agent with secrets by reference, and the same kinds of change that Kubernetes and operators make.
let stage: Stage;
let agent: AgentProcess;
let folder: string;

beforeAll(async () => {
  stage = await Stage.open();
  folder = await mkdtemp(join(tmpdir(), 'references-'));
  await mount('first', { token: 'first-token-value', 'app.json': '{"user":"joe-by-file","pin":4711471147}' });
  await writeFile(join(folder, 'counter'), '#!/bin/sh\necho "$GREETING-from-command"\n', { mode: 0o755 });
  agent = await stage.connectedAgent({
    LOG_LEVEL: 'trace',
    GREETING: 'hello',
    SECRET_FROM_TOKEN: `file:${folder}/mounted/token`,
    SECRET_FROM_PIN: `file:${folder}/mounted/app.json#pin`,
    SECRET_FROM_COMMAND: `exec:${folder}/counter`,
    SECRET_FROM_FAILS: 'exec:/bin/sh -c false',
    SECRET_FROM_HANGS_NOT: `file:${folder}/mounted/missing`,
    SECRET_FROM_FIELD: `file:${folder}/mounted/app.json#password`,
  });
});
afterAll(async () => {
  await stage[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** Files as Kubernetes mounts a secret: links into a folder whose own link is swapped. */
async function mount(version: string, files: Readonly<Record<string, string>>): Promise<void> {
  const mounted = join(folder, 'mounted');
  await mkdir(join(mounted, `..${version}`), { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(mounted, `..${version}`, name), `${content}\n`);
    await symlink(join('..data', name), join(mounted, name)).catch(() => undefined);
  }
  await symlink(`..${version}`, join(mounted, '..data_tmp'));
  await rename(join(mounted, '..data_tmp'), join(mounted, '..data'));
}

async function resultOf(path: string, options: Parameters<typeof leasedRun>[1] = {}) {
  const run = leasedRun(stage.target.url(path), options);
  stage.service.enqueue(run);
  return await stage.service.waitFor(`the result of ${path}`, () => stage.service.resultOf(run.runId));
}

const sentTexts = () =>
  stage.service
    .callsOf('results')
    .map(({ bodyText }) => bodyText)
    .join();

it('uses files, fields of files and commands, and never shows their values', async () => {
  const path = '/?a={{SERVICE_SECRET_TOKEN}}&b={{SERVICE_SECRET_PIN}}&c={{SERVICE_SECRET_COMMAND}}';
  const result = await resultOf(path);
  expect(result.failure).toBeNull();
  expect(stage.target.requests).toContain('/?a=first-token-value&b=4711471147&c=hello-from-command');
  expect(sentTexts()).not.toMatch(/first-token|4711471147|from-command/);
});

it('uses a new value after the mounted folder is swapped, and masks the earlier one, too', async () => {
  await mount('second', { token: 'second-token-value', 'app.json': '{"pin":4711471147}' });
  const hasNewValue = () => stage.target.requests.some((request) => request.endsWith('a=second-token-value'));
  while (!hasNewValue()) await resultOf('/swapped?echo=first-token-value&a={{SERVICE_SECRET_TOKEN}}');
  expect(sentTexts()).not.toMatch(/first-token|second-token/);
});

it.each([
  ['FAILS', 'exec', { secretReason: 'FAILED', secretStatus: 1 }],
  ['HANGS_NOT', 'file', { secretReason: 'NOT_FOUND' }],
  ['FIELD', 'file', { secretReason: 'NOT_FOUND' }],
])('a run that needs a missing secret (%s) is a failure of the location', async (name, provider, details) => {
  const result = await resultOf(`/never-${name}?x={{SERVICE_SECRET_${name}}}`);
  expect(result.failure).toMatchObject({
    owner: 'location',
    code: 'SECRET_UNAVAILABLE',
    details: { secretName: `SERVICE_SECRET_${name}`, secretProvider: provider, ...details },
  });
  expect(stage.target.requests.some((request) => request.startsWith('/never-'))).toBe(false);
});

it('a variable of the check with the same name takes precedence over a missing secret', async () => {
  const result = await resultOf('/own?x={{SERVICE_SECRET_FAILS}}', {
    variables: { SERVICE_SECRET_FAILS: 'own' },
  });
  expect(result.failure).toBeNull();
  expect(stage.target.requests).toContain('/own?x=own');
});

it('shows the state of each secret at /health and in metrics, without values', async () => {
  const { body: health } = await agent.get('/health');
  expect(JSON.parse(health).secrets).toContainEqual(
    expect.objectContaining({
      name: 'SERVICE_SECRET_TOKEN',
      provider: 'file',
      isAvailable: true,
      reason: null,
    }),
  );
  expect(JSON.parse(health).secrets).toContainEqual(
    expect.objectContaining({
      name: 'SERVICE_SECRET_FAILS',
      isAvailable: false,
      reason: 'FAILED',
      ageSeconds: null,
    }),
  );
  const { body: metrics } = await agent.get('/metrics');
  expect(metrics).toContain('picket_agent_secret_available{name="SERVICE_SECRET_FAILS",provider="exec"} 0');
  expect(metrics).toContain('picket_agent_secret_available{name="SERVICE_SECRET_TOKEN",provider="file"} 1');
  expect(metrics).toMatch(
    /picket_agent_secret_age_seconds\{name="SERVICE_SECRET_TOKEN",provider="file"\} \d/,
  );
  expect(metrics).toMatch(/picket_agent_secret_fetches_total\{provider="exec",outcome="failed"\} \d/);
  expect(agent.stdout).toContain('secret cannot be fetched');
  expect(health + metrics + agent.stdout).not.toMatch(/first-token|second-token|4711471147|from-command/);
});

it('gives variables of the account the value of a declared secret, and no other value of the agent', async () => {
  const result = await resultOf('/from?x={{DB_PASSWORD}}', {
    valuesFrom: { DB_PASSWORD: 'SERVICE_SECRET_COMMAND', UNUSED: 'SERVICE_SECRET_NOWHERE' },
  });
  expect(result.failure).toBeNull();
  expect(stage.target.requests).toContain('/from?x=hello-from-command');
  expect(sentTexts()).not.toContain('from-command');
  for (const [name, details] of [
    ['SERVICE_SECRET_NOWHERE', { secretReason: 'NOT_DECLARED' }],
    ['SERVICE_SECRET_FAILS', { secretReason: 'FAILED', secretProvider: 'exec' }],
    ['API_KEY', { secretReason: 'NOT_DECLARED' }],
    ['__proto__', { secretReason: 'NOT_DECLARED' }],
  ] as const) {
    const { failure } = await resultOf('/never-used?x={{DB_PASSWORD}}', {
      valuesFrom: { DB_PASSWORD: name },
    });
    expect(failure).toMatchObject({ code: 'SECRET_UNAVAILABLE', details: { secretName: name, ...details } });
    expect(failure?.message).toContain('The variable DB_PASSWORD has no value at this location.');
  }
});
