import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';

/**
 * Passwords are stored as scrypt hashes that include their parameters, so that these can be raised without invalidating
 * passwords: `scrypt$15$8$3$SALT$HASH` with the binary logarithm of N, then r and p. One hash takes 32 MiB of memory
 * and about a tenth of a second; at most two are computed at a time, so that a flood of logins exhausts neither the
 * memory nor the threads of the process.
 */
const current = { logN: 15, r: 8, p: 3 } as const;
const saltBytes = 16;
const hashBytes = 32;
const mostAtOnce = 2;

export const passwordLength = { min: 12, max: 256 } as const;

/** Problem with a new password; undefined if it is acceptable. */
export function passwordProblem(password: string, email: string): string | undefined {
  const { min, max } = passwordLength;
  if (password.length < min || password.length > max) return `must have ${min} to ${max} characters`;
  if (password.toLowerCase() === email) return 'must not be the mail address';
  if (new Set(password).size < 5) return 'must have at least 5 different characters';
  return undefined;
}

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  const { logN, r, p } = current;
  const hash = await derived(password, salt, current);
  return ['scrypt', logN, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$');
}

/** A hash that no password matches, so that logins with unknown addresses take as long as others. */
const nobody = `scrypt$${current.logN}$${current.r}$${current.p}$${'A'.repeat(22)}$${'A'.repeat(43)}`;

/**
 * Whether a password matches a hash.
 *
 * @param stored null for a person without a password, or no person: never matches, and takes as long.
 */
export async function isPassword(password: string, stored: string | null): Promise<boolean> {
  const [kind, logN, r, p, salt = '', hash = ''] = (stored ?? nobody).split('$');
  if (kind !== 'scrypt') throw new Error('a password is stored in a form that is not known');
  const wanted = Buffer.from(hash, 'base64url');
  const parameters = { logN: Number(logN), r: Number(r), p: Number(p) };
  const given = await derived(
    password.slice(0, passwordLength.max),
    Buffer.from(salt, 'base64url'),
    parameters,
  );
  return timingSafeEqual(given, wanted) && stored !== null;
}

const waiting: (() => void)[] = [];
let running = 0;

async function derived(
  password: string,
  salt: Buffer,
  { logN, r, p }: { readonly logN: number; readonly r: number; readonly p: number },
): Promise<Buffer> {
  if (running >= mostAtOnce) await new Promise<void>((resolve) => waiting.push(resolve));
  else running += 1;
  const options: ScryptOptions = { N: 2 ** logN, r, p, maxmem: 256 * r * 2 ** logN };
  try {
    return await new Promise((resolve, reject) =>
      scrypt(password.normalize('NFKC'), salt, hashBytes, options, (error, key) =>
        error ? reject(error) : resolve(key),
      ),
    );
  } finally {
    // Hands the place over to the next waiter.
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  }
}
