import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { readApiSettings } from '../api/settings.ts';
import { loginFile } from '../api/stored-login.ts';
import { loginCommand, logoutCommand } from './login.ts';

const key = 'ak_the-key-of-the-test';
const account = {
  ...{ id: '11111111-1111-4111-8111-111111111111', name: 'Acme', plan: 'SELF_HOSTED' },
  ...{ settings: {}, runtimeId: '2026.04', alertSettings: {} },
};

// A service that accepts one key, and a separate home folder.
const server = createServer((request, response) => {
  const isKnown = request.headers.authorization === `Bearer ${key}`;
  response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' });
  response.end(
    JSON.stringify(isKnown ? account : { statusCode: 401, error: 'Unauthorized', message: 'No.' }),
  );
});
let url: string;
let environment: Record<string, string>;
beforeEach(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  environment = { HOME: await mkdtemp(join(tmpdir(), 'picket-login-')) };
});
afterEach(async () => {
  vi.restoreAllMocks();
  await new Promise((resolve) => server.close(resolve));
  await rm(environment['HOME'] ?? '', { recursive: true });
});

async function login(typed: string, options: { url?: string; json?: boolean } = {}) {
  const said: string[] = [];
  vi.spyOn(console, 'log').mockImplementation((line) => said.push(line));
  const input = new PassThrough();
  input.end(typed);
  await loginCommand(environment, options, { input, output: new PassThrough() });
  return said.join('\n');
}

it('prompts, verifies, shows the account, and stores the key so that only the user can read it', async () => {
  const said = await login(`${url}\n${key}\n`);
  expect(said).toContain(`Logged in to ${url}: account Acme`);
  expect(said).not.toContain(key);
  const file = loginFile(environment);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(dirname(file))).mode & 0o777).toBe(0o700);
  expect(await readApiSettings(environment)).toEqual({ PICKET_URL: url, PICKET_API_KEY: key });
  await logoutCommand(environment);
  await expect(readApiSettings(environment)).rejects.toThrow('picket login');
  await logoutCommand(environment);
});

it('stores nothing when the key is refused or missing', async () => {
  await expect(login('ak_wrong\n', { url })).rejects.toThrow('No.');
  await expect(login('\n', { url })).rejects.toThrow('Nothing was changed');
  await expect(login(key, { url: 'ftp://x' })).rejects.toThrow('http:// or https://');
  await expect(stat(loginFile(environment))).rejects.toThrow('ENOENT');
});

it('sends the key of a login to no other address, and gives the environment precedence', async () => {
  await login(`${key}\n`, { url });
  const other = { ...environment, PICKET_URL: 'https://other.example.com' };
  await expect(readApiSettings(other)).rejects.toThrow('PICKET_API_KEY');
  expect(await readApiSettings({ ...other, PICKET_API_KEY: 'ak_2' })).toEqual({
    PICKET_URL: 'https://other.example.com',
    PICKET_API_KEY: 'ak_2',
  });
  expect(await readApiSettings({ ...environment, PICKET_API_KEY: 'ak_2' })).toEqual({
    PICKET_URL: url,
    PICKET_API_KEY: 'ak_2',
  });
  expect(await readApiSettings({ ...environment, PICKET_URL: `${url}/` })).toMatchObject({
    PICKET_API_KEY: key,
  });
});

it('explains what to do about a file that is not a login', async () => {
  await login(`${key}\n`, { url });
  await writeFile(loginFile(environment), '{');
  await expect(readApiSettings(environment)).rejects.toThrow('picket logout');
});
