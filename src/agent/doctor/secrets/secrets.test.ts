import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readExaminedSettings } from '../environment.ts';
import type { ExaminedAgent } from '../examination.ts';
import { secrets } from './secrets.ts';

/** The doctor's verdicts on these secrets. */
async function verdictsOf(environment: Readonly<Record<string, string>>) {
  const all = { API_KEY: 'pl_0123456789', SERVICE_URL: 'http://127.0.0.1:1', ...environment };
  const patient = { ...readExaminedSettings(all), signal: new AbortController().signal };
  return [await secrets.examine(patient as ExaminedAgent)].flat();
}

it('tries each secret by reference, and shows the reason, never a value or the arguments of a command', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'doctor-secrets-'));
  await writeFile(join(folder, 'app.json'), '{"password":"correct-horse","pin":"12"}');
  const verdicts = await verdictsOf({
    SECRET_FROM_A: `file:${folder}/app.json#password`,
    SECRET_FROM_B: `file:${folder}/app.json#pin`,
    SECRET_FROM_C: `file:${folder}/none`,
    SECRET_FROM_D: 'exec:/bin/echo key-in-the-arguments',
  });
  expect(verdicts).toEqual([
    expect.objectContaining({ status: 'ok', about: 'SECRET_FROM_A' }),
    expect.objectContaining({
      status: 'warning',
      about: 'SECRET_FROM_B',
      detail: expect.stringContaining('shorter than 6 characters'),
    }),
    expect.objectContaining({
      status: 'problem',
      about: 'SECRET_FROM_C',
      detail: 'file: the file does not exist',
      fix: 'Correct the place, or create the secret there.',
    }),
    expect.objectContaining({ status: 'ok', about: 'SECRET_FROM_D' }),
  ]);
  expect(JSON.stringify(verdicts)).not.toMatch(/correct-horse|key-in-the-arguments/);
  await rm(folder, { recursive: true });
});

it('skips an agent without such secrets, and examines the others when one is wrong', async () => {
  expect(await verdictsOf({})).toMatchObject([{ status: 'skipped' }]);
  const verdicts = await verdictsOf({
    SECRET_FROM_A: 'nonsense',
    SECRET_FROM_B: 'exec:/bin/echo long-enough',
    ...{ SECRET_FROM_C: 'vault:kv/data/a#b', SECRET_FROM_D: 'vault:kv/data/c#d', VAULT_ADDR: 'ftp://wrong' },
  });
  expect(verdicts).toMatchObject([{ status: 'ok', about: 'SECRET_FROM_B' }]);
});
