import { maxSecretLength } from '@picket/lib/bounds/maskable.ts';
import { readEnvironment } from '@picket/lib/env.ts';
import { z } from 'zod';

const secretPrefix = 'SERVICE_SECRET_';

/**
 * Reads only the `SERVICE_SECRET_*` variables, given as values or as files.
 *
 * @throws AppError CONFIG_INVALID listing every problem.
 */
export function readServiceSecrets(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const names = serviceSecretNames(environment);
  return present(readEnvironment(z.object(secretShape(names)), environment), names);
}

/** The schema of these variables. */
export function secretShape(names: readonly string[]) {
  const secret = z
    .string()
    .max(maxSecretLength, 'must not be longer than 128 KiB')
    .optional()
    .meta({ secret: true });
  return Object.fromEntries(names.map((name) => [name, secret]));
}

/** The variables that are set. */
export function present(
  values: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = values[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Names of the secrets, whether given as a value (`NAME`) or as a file (`NAME_FILE`). */
export function serviceSecretNames(environment: Readonly<Record<string, string | undefined>>): string[] {
  const names = Object.keys(environment)
    .filter((key) => key.startsWith(secretPrefix) && key.length > secretPrefix.length)
    .map((key) => key.replace(/_FILE$/, ''));
  return [...new Set(names)].sort();
}
