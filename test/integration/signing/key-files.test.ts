import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { trustedKeys } from '../../../src/agent/doctor/authorities.ts';
import { readExaminedSettings } from '../../../src/agent/doctor/environment.ts';
import type { ExaminedAgent } from '../../../src/agent/doctor/examination.ts';
import { newKeyCommand, readSigningKey, showKeyCommand } from '../../../src/cli/signing/key-file.ts';
import { signingOptions } from '../../../src/cli/signing/signing-options.ts';
import {
  keyIdOf,
  newPrivateKey,
  publicKeyLine,
  readPublicKey,
} from '../../../src/lib/signing/signing-keys.ts';

let folder: string;
const at = (name: string) => join(folder, name);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'picket-keys-'));
});
afterAll(() => rm(folder, { recursive: true }));

it('makes a key that only its owner can read, and prints its public key again', async () => {
  const { json, lines } = await newKeyCommand(at('a.pem'), { until: '2027-12-31' });
  const made = json as { keyId: string; publicKey: string };
  expect((await stat(at('a.pem'))).mode & 0o777).toBe(0o600);
  expect(lines(80).at(-1)).toBe(made.publicKey);
  expect(lines(80).join('\n')).not.toContain('PRIVATE KEY');
  expect(await readFile(at('a.pem'), 'utf8')).toMatch(/^-----BEGIN PRIVATE KEY-----/);
  expect(readPublicKey(made.publicKey)).toMatchObject({ id: made.keyId, notAfter: Date.parse('2028-01-01') });
  expect(keyIdOf(await readSigningKey(at('a.pem')))).toBe(made.keyId);
  expect((await showKeyCommand(at('a.pem'), { until: '2027-12-31' })).json).toEqual(made);
});

it('refuses to overwrite a file, to read one that others can read, and whatever is not a key', async () => {
  await newKeyCommand(at('b.pem'), {});
  await expect(newKeyCommand(at('b.pem'), {})).rejects.toThrow('the file exists');
  await expect(newKeyCommand(at('no/folder.pem'), {})).rejects.toThrow('ENOENT');
  await expect(newKeyCommand(at('c.pem'), { until: 'tomorrow' })).rejects.toThrow(
    '--until tomorrow: must be a day',
  );
  await chmod(at('b.pem'), 0o640);
  await expect(readSigningKey(at('b.pem'))).rejects.toThrow('chmod 600');
  await expect(readSigningKey(at('absent.pem'))).rejects.toThrow('ENOENT');
  await writeFile(at('text.pem'), 'not a key', { mode: 0o600 });
  await expect(readSigningKey(at('text.pem'))).rejects.toThrow('is not a private key of "picket keys new"');
});

it('examines the keys of an agent, and their last days', async () => {
  const line = publicKeyLine(newPrivateKey());
  const examined = async (keys: string | undefined) => {
    const variables = { API_KEY: 'pl_abc', SERVICE_URL: 'https://picket.example.com', TRUSTED_KEYS: keys };
    const found = await trustedKeys.examine(readExaminedSettings(variables) as ExaminedAgent);
    return [found].flat().map(({ status }) => status);
  };
  const day = (fromNow: number) => new Date(Date.now() + fromNow * 86_400_000).toISOString().slice(0, 10);
  expect(await examined(undefined)).toEqual(['skipped']);
  expect(await examined(`${line},${line}:${day(3)},${line}:${day(90)},${line}:${day(-2)}`)).toEqual([
    ...['ok', 'warning', 'ok', 'problem'],
  ]);
});

it('reads the validity of signatures, to the end of a day', async () => {
  await newKeyCommand(at('d.pem'), {});
  const now = Date.parse('2026-11-28T15:00:00Z');
  expect(await signingOptions({}, now)).toBeUndefined();
  expect(await signingOptions({ sign: at('d.pem') }, now)).toMatchObject({ notAfter: null, serial: now });
  expect(await signingOptions({ sign: at('d.pem'), validDays: '90' }, now)).toMatchObject({
    notAfter: Date.parse('2027-02-27'),
  });
  for (const validDays of ['0', '-1', '1.5', 'x', '99999']) {
    await expect(signingOptions({ sign: at('d.pem'), validDays }, now), validDays).rejects.toThrow(
      '--valid-days',
    );
  }
  await expect(signingOptions({ validDays: '5' }, now)).rejects.toThrow('it needs --sign');
});
