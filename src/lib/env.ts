import { readFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import type { z } from 'zod';
import { AppError, toError } from './errors.ts';
import { isAboutMissingValue, isZodsOwn } from './json/foreign-texts.ts';

/**
 * Reads configuration from environment variables with one schema. A field of the schema is a variable of the same name;
 * `.meta({ description, secret })` documents it and, for secrets, allows `NAME_FILE` with the path of a file that holds
 * the value. An empty variable counts as absent.
 *
 * @throws AppError CONFIG_INVALID that lists every bad variable and its allowed values; its attribute `problems` is a
 * list of lines that begin with the variable and a colon.
 */
export function readEnvironment<Schema extends z.ZodObject>(
  schema: Schema,
  environment: Readonly<Record<string, string | undefined>>,
): z.output<Schema> {
  const problems: string[] = [];
  const values: Record<string, string> = {};
  for (const [name, field] of Object.entries(schema.shape)) {
    const value = environment[name];
    if (value !== undefined && value !== '') values[name] = value;
    if (!isSecret(field as z.ZodType)) continue;
    const path = environment[`${name}_FILE`];
    if (path === undefined || path === '') continue;
    if (values[name] !== undefined) {
      problems.push(`${name}: set either ${name} or ${name}_FILE, not both`);
      continue;
    }
    try {
      values[name] = readFileSync(path, 'utf8').trim();
    } catch (thrown) {
      problems.push(`${name}_FILE: cannot read the file (${toError(thrown).message})`);
    }
  }
  // Read once: zod would make code for each object schema first.
  const parsed = schema.safeParse(values, { jitless: true });
  if (!parsed.success) {
    for (const issue of parsed.error.issues) {
      const name = issue.path.join('.');
      const isReadProblem = problems.some((problem) => problem.startsWith(`${name}_FILE`));
      if (!isReadProblem) problems.push(`${name}: ${sentenceOf(issue)}`);
    }
  }
  if (problems.length > 0 || !parsed.success) {
    const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
    throw new AppError(
      'CONFIG_INVALID',
      `${count} in the configuration:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
      { attributes: { problems } },
    );
  }
  return parsed.data;
}

/** Describes an issue in words. Omits the value, which may be a secret. */
function sentenceOf(issue: z.core.$ZodIssue): string {
  // Our schemas' own messages are sentences already.
  if (!isZodsOwn(issue.message)) return issue.message;
  switch (issue.code) {
    case 'invalid_type':
      if (isAboutMissingValue(issue.message)) return 'is required';
      return issue.expected === 'int' ? 'must be a whole number' : `must be a ${issue.expected}`;
    case 'invalid_value':
      return `must be one of ${issue.values.join(', ')}`;
    case 'too_small':
      return `must ${sizeWords(issue.origin, 'at least', Number(issue.minimum))}`;
    case 'too_big':
      return `must ${sizeWords(issue.origin, 'at most', Number(issue.maximum))}`;
    case 'invalid_format':
      return `must be a valid ${issue.format}`;
    default:
      return issue.message;
  }
}

function sizeWords(origin: string, bound: string, size: number): string {
  return origin === 'string' ? `have ${bound} ${size} characters` : `be ${bound} ${size}`;
}

/** Documentation of one variable, as shown in docs/reference/config.md and `--help`. */
export interface VariableDoc {
  readonly name: string;
  readonly description: string;
  readonly defaultText: string;
  readonly isSecret: boolean;
}

/** Returns the documentation in the metadata of a schema's fields. */
export function describeEnvironment(schema: z.ZodObject): VariableDoc[] {
  return Object.entries(schema.shape).map(([name, field]) => {
    const zodField = field as z.ZodType;
    const meta = zodField.meta() ?? {};
    const absent = zodField.safeParse(undefined);
    const shown = typeof meta.defaultText === 'string' ? meta.defaultText : undefined;
    return {
      name,
      description: zodField.description ?? '',
      defaultText: shown ?? (absent.success ? String(absent.data ?? 'none') : 'required'),
      isSecret: isSecret(zodField),
    };
  });
}

function isSecret(field: z.ZodType): boolean {
  return field.meta()?.secret === true;
}

/** Node keeps compiled modules in a version-specific folder within the folder that NODE_COMPILE_CACHE names. */
const ownFolder = getCompileCacheDir();

/**
 * Environment for our own threads and processes that must not inherit ours: only the location of Node's compile cache,
 * if there is one, so that they need not compile modules again. Code that runs untrusted input does not get it.
 */
export const ownThreadEnvironment: Readonly<Record<string, string>> =
  ownFolder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(ownFolder) };
