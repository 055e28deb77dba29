import { exportAccount, type MissingValue, type Stored } from '@picket/cli/project/export.ts';
import type { Definition } from '@picket/cli/project/project.ts';
import { findUnknownFields } from '@picket/lib/names/unknown-fields.ts';
import type { Fields, Kind } from '@picket/protocol/projects/kind.ts';
import { kindIn } from '@picket/protocol/projects/kinds.ts';
import { z } from 'zod';
import type { Loss } from '../source.ts';

export interface ImportedAccount {
  readonly definitions: readonly Definition[];
  readonly missing: readonly MissingValue[];
  readonly losses: readonly Loss[];
}

/** Read-only fields in responses of such services that this version does not return. */
const ofOtherAnswers = [
  ...['accountId', 'created_at', 'updated_at', 'alertChannels'],
  ...['isPrivate', 'maskedKey', 'rawKey'],
];

/** Fields of responses: ids, dates, derived values, and the written fields. */
function answered({ routes: { get } }: Kind): string[] {
  const { response } = get;
  const options = response instanceof z.ZodDiscriminatedUnion ? response.options : [response];
  return options.flatMap((one) => (one instanceof z.ZodObject ? Object.keys(one.shape) : []));
}

/** Cards contain whole services in responses, and their ids in requests. */
const ofCards = /^cards\.\d+\.(services\.\d+\.\w+|created_at|updated_at)$/;
/** How many fields of one object are removed, one at a time, before the whole object is lost. */
const mostProblems = 50;

/** Converts an account, as the API of a comparable service shows it, to files of this one. */
export function importAccount(shown: readonly Stored[]): ImportedAccount {
  const losses: Loss[] = [];
  const stored = shown.flatMap((one) => {
    const view = acceptable(one, losses);
    return view ? [{ ...one, view }] : [];
  });
  const { definitions, missing, notes } = exportAccount(stored);
  for (const note of notes)
    losses.push({ field: note.split(':')[0] ?? '', reason: note.replace(/^[^:]*: /, '') });
  return { definitions, missing, losses };
}

/** One object with the fields that this version accepts; undefined if it cannot be used. */
function acceptable({ folder, id, view }: Stored, losses: Loss[]): Fields | undefined {
  const kind = kindIn(folder);
  const title = `${folder}/${String(view['name'] ?? view['header'] ?? view['type'] ?? id)}`;
  const lose = (field: string, reason: string) =>
    void losses.push({ field: field === '' ? title : `${title}.${field}`, reason });
  const known = kind.shown(view);
  if (!known) {
    const field = kind.decidedBy ?? 'type';
    lose('', `Picket has nothing for ${field} ${JSON.stringify(view[field])}`);
    return undefined;
  }
  const of = new Set([...known.keys, ...answered(kind), ...ofOtherAnswers]);
  for (const [key, value] of Object.entries(view)) {
    if (!of.has(key) && !isEmpty(value)) lose(key, 'Picket has no such field');
  }
  const isKnown = ([key]: readonly [string, unknown]) => known.keys.includes(key);
  const others = Object.entries(view).filter((entry) => !isKnown(entry));
  let fields: Fields = Object.fromEntries(Object.entries(view).filter(isKnown));
  for (const { path } of findUnknownFields([known.schema], fields)) {
    if (!ofCards.test(path.join('.'))) lose(path.join('.'), 'Picket has no such field');
    fields = without(fields, path) as Fields;
  }
  for (let count = 0; count < mostProblems; count += 1) {
    const [issue] = known.schema.safeParse(fields).error?.issues ?? [];
    if (!issue) return { ...Object.fromEntries(others), ...fields };
    const { path, message } = issue;
    if (valueAt(fields, path) === undefined) {
      lose('', `${path.join('.')} is missing or not usable: ${message}`);
      return undefined;
    }
    lose(path.join('.'), message);
    fields = without(fields, path) as Fields;
  }
  lose('', 'it has too many fields that Picket does not take');
  return undefined;
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === '' || value === false;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, key) =>
      typeof at === 'object' && at !== null ? (at as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  );
}

/** A copy without the value at a path; later list items move up. */
function without(value: unknown, [key, ...rest]: readonly PropertyKey[]): unknown {
  if (Array.isArray(value)) {
    const index = Number(key);
    return rest.length === 0
      ? value.filter((_, at) => at !== index)
      : value.map((item, at) => (at === index ? without(item, rest) : item));
  }
  const fields = { ...(value as Record<PropertyKey, unknown>) };
  if (key === undefined) return fields;
  if (rest.length === 0) delete fields[key];
  else fields[key] = without(fields[key], rest);
  return fields;
}
