import { ApiError } from '../api/api-error.ts';
import { readSigningKey } from './key-file.ts';
import type { SigningOptions } from './sign-definition.ts';

const dayMs = 86_400_000;
const maxDays = 3650;

/** Options of commands that sign, as they are typed. */
export interface TypedSigningOptions {
  readonly sign?: string;
  readonly validDays?: string;
}

/** Reads the key and the validity; undefined if nothing is signed. @throws ApiError for wrong options. */
export async function signingOptions(
  { sign, validDays }: TypedSigningOptions,
  now = Date.now(),
): Promise<SigningOptions | undefined> {
  if (sign === undefined) {
    if (validDays === undefined) return undefined;
    throw new ApiError('--valid-days is the validity of signatures: it needs --sign', true);
  }
  const days = validDays === undefined ? undefined : Number(validDays);
  if (days !== undefined && !(Number.isInteger(days) && days >= 1 && days <= maxDays)) {
    throw new ApiError(`--valid-days ${validDays}: must be a whole number from 1 to ${maxDays}`, true);
  }
  const key = await readSigningKey(sign);
  // The end of a day, so that deployments of one day make the same signatures.
  const notAfter = days === undefined ? null : (Math.floor(now / dayMs) + 1 + days) * dayMs;
  return { key, notAfter, serial: now };
}
