import { maxSecretLength } from '@picket/lib/bounds/maskable.ts';
import { z } from 'zod';
import { jsonOf } from './http.ts';
import { ReferenceProblem } from './problem.ts';
import type { Content } from './provider.ts';
import { findProvider, providers } from './providers/index.ts';

/** Prefix of the variables that declare a secret by reference; the rest of the name is that of `SERVICE_SECRET_*`. */
export const referencePrefix = 'SECRET_FROM_';

/** A secret whose value lives outside the agent. */
export interface SecretReference {
  /** Name of the variable in checks: `SERVICE_SECRET_…`. */
  readonly name: string;
  /** Name of its provider. */
  readonly provider: string;
  /** Where the provider finds it. */
  readonly place: string;
  /** Field of the content, if not the whole. */
  readonly field: string | undefined;
}

const forms = providers.map(({ form }) => `\`${form}\``).join(', ');

/** `PROVIDER:PLACE` or `PROVIDER:PLACE#FIELD`; a `#` that belongs to the place is written `%23`. */
const referenceText = z
  .string()
  .max(4096, 'must not be longer than 4096 characters')
  .transform((text, context) => {
    const parsed = parseReference(text);
    if (typeof parsed !== 'string') return parsed;
    context.addIssue({ code: 'custom', message: parsed });
    return z.NEVER;
  })
  .optional();

/** The schema of these variables. */
export function referenceShape(names: readonly string[]): Record<string, typeof referenceText> {
  return Object.fromEntries(names.map((name) => [name, referenceText]));
}

/** Names of the variables of an environment that declare a secret by reference. */
export function referenceNames(environment: Readonly<Record<string, string | undefined>>): string[] {
  return Object.keys(environment)
    .filter((key) => key.startsWith(referencePrefix) && key.length > referencePrefix.length)
    .sort();
}

/** Name in checks of the secret that a variable declares. */
export function secretNameOf(variable: string): string {
  return `SERVICE_SECRET_${variable.slice(referencePrefix.length)}`;
}

/** Returns the parts of a reference, or its problem. */
function parseReference(text: string): Omit<SecretReference, 'name'> | string {
  const colon = text.indexOf(':');
  const provider = findProvider(text.slice(0, Math.max(0, colon)));
  if (!provider) return `must be a reference: one of ${forms}`;
  const rest = text.slice(colon + 1);
  const hash = rest.lastIndexOf('#');
  const place = (hash < 0 ? rest : rest.slice(0, hash)).replaceAll('%23', '#');
  const field = hash < 0 ? undefined : rest.slice(hash + 1);
  if (field === '') return 'must name a field after the `#`';
  if (provider.needsField && field === undefined) return `must name a field: \`${provider.form}\``;
  const problem = provider.placeProblem(place);
  return problem === undefined
    ? { provider: provider.name, place, field }
    : `must be \`${provider.form}\`: ${problem}`;
}

/**
 * The value of a reference in the content of its place.
 *
 * @throws ReferenceProblem if the content has no such value, or the value is too long.
 */
export function valueIn(content: Content, field: string | undefined): string {
  const value = field === undefined ? content : fieldOf(content, field);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text.length > maxSecretLength) {
    throw new ReferenceProblem('TOO_LARGE', 'the value is longer than 128 KiB');
  }
  if (text === '') throw new ReferenceProblem('UNUSABLE', 'the value is empty');
  return text;
}

function fieldOf(content: Content, field: string): unknown {
  const fields = typeof content === 'string' ? jsonOf(content) : content;
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) {
    throw new ReferenceProblem('UNUSABLE', `the content is not a JSON object, so it has no field "${field}"`);
  }
  const value = Object.hasOwn(fields, field) ? (fields as Record<string, unknown>)[field] : undefined;
  if (value === undefined || value === null) {
    throw new ReferenceProblem('NOT_FOUND', `the content has no field "${field}"`);
  }
  return value;
}
