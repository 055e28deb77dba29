import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { readSecretFile } from './read-file.ts';

/** A text, absent by default. */
export const text = z.string().min(1, 'must not be empty').max(4096).optional();

/** An absolute path of a file that is read anew at each use. */
export const path = z
  .string()
  .refine((value) => isAbsolute(value), 'must be an absolute path')
  .optional();

/** An address; a path in it is a prefix. */
export const address = z
  .string()
  .refine((value) => {
    const url = URL.parse(value);
    const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
    return isHttp && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  }, 'must be an http:// or https:// address without a user name, query or fragment')
  .transform((value) => value.replace(/\/+$/, ''))
  .optional();

/**
 * A credential that is set as a value, or as the path of a file.
 *
 * @throws ReferenceProblem if the file cannot be read.
 */
export async function credentialOf(
  value: string | undefined,
  filePath: string | undefined,
): Promise<string | undefined> {
  return filePath === undefined ? value : await readSecretFile(filePath);
}
