import type { KeyObject } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { errorCodeOf, toError } from '@picket/lib/errors.ts';
import {
  keyIdOf,
  newPrivateKey,
  privateKeyPem,
  publicKeyLine,
  readPrivateKey,
} from '@picket/lib/signing/signing-keys.ts';
import { ApiError } from '../api/api-error.ts';
import type { Shown } from '../api/command.ts';

export interface KeyOptions {
  /** Last day on which agents accept its signatures, `YYYY-MM-DD`. */
  readonly until?: string;
}

/** `picket keys new FILE`: makes a key that signs checks. */
export async function newKeyCommand(path: string, options: KeyOptions): Promise<Shown> {
  const until = checkedDay(options.until);
  const key = newPrivateKey();
  try {
    await writeFile(path, privateKeyPem(key), { mode: 0o600, flag: 'wx' });
  } catch (thrown) {
    const reason = errorCodeOf(thrown) === 'EEXIST' ? 'the file exists' : toError(thrown).message;
    throw new ApiError(`${path}: ${reason}. A new key needs a new file.`, true);
  }
  return shownKey(key, until, [`The private key is in ${path}. Keep it secret, and do not commit it.`]);
}

/** `picket keys show FILE`: the public key of a private key. */
export async function showKeyCommand(path: string, options: KeyOptions): Promise<Shown> {
  return shownKey(await readSigningKey(path), checkedDay(options.until), []);
}

function shownKey(key: KeyObject, until: string | undefined, before: readonly string[]): Shown {
  const [keyId, publicKey] = [keyIdOf(key), publicKeyLine(key, until)];
  return {
    json: { keyId, publicKey },
    lines: () => [...before, `Key ${keyId}. Add its public key to TRUSTED_KEYS of your agents:`, publicKey],
  };
}

/** @throws ApiError if the file cannot be read, is no Ed25519 key, or others may read it. */
export async function readSigningKey(path: string): Promise<KeyObject> {
  let pem: string;
  let mode: number;
  try {
    [pem, { mode }] = [await readFile(path, 'utf8'), await stat(path)];
  } catch (thrown) {
    throw new ApiError(`${path}: ${toError(thrown).message}`, true);
  }
  if ((mode & 0o077) !== 0) {
    throw new ApiError(`${path}: other users can read this private key. Run: chmod 600 ${path}`, true);
  }
  const key = readPrivateKey(pem);
  if (!key) throw new ApiError(`${path}: is not a private key of "picket keys new"`, true);
  return key;
}

function checkedDay(day: string | undefined): string | undefined {
  if (day === undefined) return undefined;
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(day) && !Number.isNaN(Date.parse(`${day}T00:00:00Z`));
  if (!isDay) throw new ApiError(`--until ${day}: must be a day such as 2027-12-31`, true);
  return day;
}
