import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { AppError, toError } from '@picket/lib/errors.ts';
import { z } from 'zod';

type Environment = Readonly<Record<string, string | undefined>>;

const StoredLogin = z.object({
  url: z.url({ protocol: /^https?$/ }),
  apiKey: z.string().min(1),
  accountId: z.string(),
  accountName: z.string(),
});
/** Stored by `picket login`: a key, and the only address to which it may be sent. */
export type StoredLogin = z.output<typeof StoredLogin>;

/** Returns the path of the login file, in the user's configuration folder (XDG base directories). */
export function loginFile({ XDG_CONFIG_HOME: configured, HOME: home }: Environment): string {
  const folder = configured?.startsWith('/') ? configured : join(home || homedir(), '.config');
  return join(folder, 'picket', 'login.json');
}

/** @throws AppError CONFIG_INVALID if the file exists and is not a valid login. */
export async function readLogin(environment: Environment): Promise<StoredLogin | undefined> {
  const path = loginFile(environment);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return undefined;
    throw unusable(path, toError(thrown).message);
  }
  try {
    return StoredLogin.parse(JSON.parse(text));
  } catch {
    throw unusable(path, 'it holds no login');
  }
}

/** Stores a login where only the user can read it; replaces the file atomically. */
export async function keepLogin(environment: Environment, login: StoredLogin): Promise<string> {
  const path = loginFile(environment);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const written = `${path}.${process.pid}`;
  await writeFile(written, `${JSON.stringify(login, null, 2)}\n`, { mode: 0o600 });
  await chmod(written, 0o600);
  await rename(written, path);
  return path;
}

/** @returns whether a login existed. */
export async function forgetLogin(environment: Environment): Promise<boolean> {
  try {
    await rm(loginFile(environment));
    return true;
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return false;
    throw unusable(loginFile(environment), toError(thrown).message);
  }
}

function unusable(path: string, reason: string): AppError {
  return new AppError(
    'CONFIG_INVALID',
    `${path}: ${reason}; "picket logout" removes it, "picket login" makes a new one`,
  );
}

function codeOf(thrown: unknown): unknown {
  return toError(thrown) instanceof Error && 'code' in toError(thrown)
    ? (toError(thrown) as NodeJS.ErrnoException).code
    : undefined;
}
