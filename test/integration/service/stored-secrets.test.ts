import { randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readServiceConfig } from '../../../src/platform/config/config.ts';
import { type RunningService, startService } from '../../../src/server/service.ts';
import { quietLogger, temporaryFolder } from '../../helpers/service/service.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';

const apiKey = 'bootstrap-key-of-the-tests';
const needles = {
  variable: 'needle-variable-7351',
  password: 'needle-password-7352',
  group: 'needle-group-7353',
  channel: 'needle-channel-7354',
  snippet: 'needle-snippet-7355',
  session: 'needle-session-7356',
  proxy: 'needle-proxy-7357',
};

let folder: ReturnType<typeof temporaryFolder>;
let running: RunningService | undefined;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(async () => {
  await running?.close();
  running = undefined;
  folder.remove();
});

async function start(settings: Record<string, string> = {}): Promise<void> {
  await running?.close();
  running = undefined;
  running = await startService({
    config: readServiceConfig({
      PORT: '0',
      HOST: '127.0.0.1',
      DATA_DIR: folder.path,
      BOOTSTRAP_API_KEY: apiKey,
      ...settings,
    }),
    logger: quietLogger,
  });
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
async function call(method: string, path: string, body?: unknown, credential = apiKey): Promise<any> {
  const response = await fetch(`${running?.address}/v1/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${credential}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === '' ? null : JSON.parse(text);
}

/** The needles that occur in any file of the data folder. */
function found(): string[] {
  const bytes = readdirSync(folder.path)
    .filter((name) => name.startsWith('picket.sqlite'))
    .map((name) => readFileSync(join(folder.path, name), 'latin1'))
    .join('');
  return Object.entries(needles)
    .filter(([, needle]) => bytes.includes(needle))
    .map(([name]) => name);
}

async function writeSecrets(): Promise<{ locationKey: string }> {
  const location = await call('POST', 'private-locations', {
    name: 'lab',
    slugName: 'lab',
    proxyUrl: `http://user:${needles.proxy}@proxy.test:3128`,
  });
  await call('POST', 'variables', { key: 'PIN', value: needles.variable, secret: true });
  await call('POST', 'snippets', { name: 'login', script: `// ${needles.snippet}` });
  const { cert, key } = await (await createAuthority()).issue();
  await call('POST', 'client-certificates', { host: 'api.test', cert, key });
  await call('POST', 'check-groups', {
    name: 'shop',
    apiCheckDefaults: { basicAuth: { username: 'u', password: needles.group } },
  });
  await call('POST', 'alert-channels', {
    type: 'WEBHOOK',
    config: {
      name: 'hook',
      method: 'POST',
      url: 'https://hooks.test/',
      headers: [{ key: 'x-token', value: needles.channel, locked: false }],
    },
  });
  const check = await call('POST', 'checks/api', {
    name: 'a check',
    frequency: 1440,
    privateLocations: ['lab'],
    request: {
      method: 'GET',
      url: 'http://target.test/',
      basicAuth: { username: 'u', password: needles.password },
    },
  });
  // An agent is present: runs that no agent can run are not queued.
  await leased(location.keys[0].rawKey);
  await call('POST', 'test-sessions/trigger', {
    name: 'try',
    runLocation: 'lab',
    target: { checkId: check.id },
    environmentVariables: [{ key: 'TOKEN', value: needles.session, locked: true }],
  });
  return { locationKey: location.keys[0].rawKey };
}

/** An agent still receives the secrets in clear text, over the wire only. */
async function leased(locationKey: string): Promise<string> {
  const claim = {
    agentId: 'agent',
    sessionId: randomUUID(),
    version: '8.0.0',
    platform: 'test',
    checkTypes: ['API'],
    freeSlots: { probe: 50, script: 0 },
    waitMs: 0,
  };
  const answer = await call('POST', 'agent/claims', claim, locationKey);
  await call(
    'POST',
    'agent/leases/release',
    {
      agentId: claim.agentId,
      sessionId: claim.sessionId,
      leases: answer.runs.map(({ runId, leaseNumber }: { runId: string; leaseNumber: number }) => ({
        runId,
        leaseNumber,
      })),
    },
    locationKey,
  );
  return JSON.stringify(answer);
}

it('stores no secret in clear with a key, and agents still get them', async () => {
  await start({ SECRETS_KEY: randomBytes(32).toString('base64') });
  const { locationKey } = await writeSecrets();
  const answer = await leased(locationKey);
  for (const needle of [needles.variable, needles.password, needles.session, needles.proxy]) {
    expect(answer).toContain(needle);
  }
  expect(found()).toEqual([]);
  expect((await call('GET', 'snippets'))[0].script).toContain(needles.snippet);
});

it('encrypts stored clear text when a key is set, changes the key, and removes it again', async () => {
  await start();
  const { locationKey } = await writeSecrets();
  const before = await leased(locationKey);
  expect(found().sort()).toEqual(Object.keys(needles).sort());
  const [first, second] = [randomBytes(32).toString('base64'), randomBytes(32).toString('hex')];
  const sealed = () => readFileSync(join(folder.path, 'picket.sqlite'), 'latin1');
  await start({ SECRETS_KEY: first });
  expect((await leased(locationKey)).length).toBe(before.length);
  // Not in freed pages or in the write-ahead log either.
  expect(found()).toEqual([]);
  await start({ SECRETS_KEY: second, SECRETS_OLD_KEYS: first });
  await start({ SECRETS_KEY: second });
  expect((await leased(locationKey)).length).toBe(before.length);
  await running?.close();
  running = undefined;
  expect(sealed()).toContain('picket:1:');
  await start({ SECRETS_OLD_KEYS: second });
  await start();
  expect((await leased(locationKey)).length).toBe(before.length);
});

it('refuses to start without the key, or with another one, and names the setting', async () => {
  await start({ SECRETS_KEY: randomBytes(32).toString('base64') });
  await writeSecrets();
  await running?.close();
  running = undefined;
  for (const settings of [{}, { SECRETS_KEY: randomBytes(32).toString('base64') }]) {
    await expect(start(settings as Record<string, string>)).rejects.toThrow(
      /SECRETS_KEY: .*SECRETS_OLD_KEYS/,
    );
  }
  expect(() => readServiceConfig({ SECRETS_KEY: 'short' })).toThrow(/SECRETS_KEY: must be 32 bytes/);
});

it('restricts its files to its owner in an existing open folder, and closes open files', async () => {
  folder.remove();
  mkdirSync(folder.path);
  chmodSync(folder.path, 0o755);
  writeFileSync(join(folder.path, 'picket.sqlite'), '');
  chmodSync(join(folder.path, 'picket.sqlite'), 0o644);
  await start();
  await call('POST', 'variables', { key: 'PIN', value: needles.variable, secret: true });
  const files = readdirSync(folder.path, { recursive: true, withFileTypes: true });
  const open = files
    .filter((entry) => (statSync(join(entry.parentPath, entry.name)).mode & 0o077) !== 0)
    .map(({ name }) => name);
  expect(files.map(({ name }) => name)).toContain('picket.sqlite-wal');
  expect(open).toEqual([]);
});
