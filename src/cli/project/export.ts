import { type Fields, type Kind, titlesOf } from '@picket/protocol/projects/kind.ts';
import { type Folder, kindIn, kinds } from '@picket/protocol/projects/kinds.ts';
import { defaultOffset } from '@picket/service/checks/timing/slots.ts';
import { canonicalApi, sortedNames } from './canonical.ts';
import { EnvironmentValue } from './environment-values.ts';
import { type Definition, logicalIdOf, pathOf } from './project.ts';
import { toFile } from './references.ts';

/** One resource of an account, as the API shows it. */
export interface Stored {
  readonly folder: Folder;
  /** The id that projects use. */
  readonly id: string | number;
  readonly view: Fields;
}

/** A value that the files omit: it must be set as an environment variable for a deployment. */
export interface MissingValue {
  readonly variable: string;
  readonly file: string;
  readonly field: string;
}

export interface Exported {
  readonly definitions: readonly Definition[];
  readonly missing: readonly MissingValue[];
  /** Differences between the account and the files, one sentence each. */
  readonly notes: readonly string[];
}

/**
 * Converts an account to files. Ids become names; hidden values become environment variables.
 *
 * @param known returns the names from deployments; other names are derived from the resources' titles.
 */
export function exportAccount(
  stored: readonly Stored[],
  known: (folder: Folder, id: string | number) => string | undefined = () => undefined,
): Exported {
  const names = nameAll(stored, known);
  const variables = new Set<string>();
  const missing: MissingValue[] = [];
  const notes: string[] = [];
  const ordered = kinds.flatMap(({ folder }) => inOrder(stored.filter((one) => one.folder === folder)));
  const definitions = ordered.map((one): Definition => {
    const { folder, id, view } = one;
    const kind = kindIn(folder);
    const logicalId = names.get(keyOf(folder, id)) ?? String(id);
    const file = pathOf({ folder, logicalId });
    const api = canonicalApi(kind, withoutChosenOffset(view));
    const named = toFile(kind.references, api, (to, other) => names.get(keyOf(to, other)) ?? other);
    const fields = withEnvironmentValues(kind, sortedNames(kind, named), view, (field) => {
      const variable = variableOf(logicalId, field, variables);
      missing.push({ variable, file, field });
      return new EnvironmentValue(variable);
    });
    if (view['heartbeat']) notes.push(`${file}: pings go to another address when it is deployed elsewhere`);
    return { folder, logicalId, fields };
  });
  return { definitions, missing, notes };
}

function nameAll(
  stored: readonly Stored[],
  known: (folder: Folder, id: string | number) => string | undefined,
): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { folder } of kinds) {
    const all = inOrder(stored.filter((one) => one.folder === folder));
    const taken = new Set(all.flatMap(({ id }) => known(folder, id) ?? []));
    for (const { id, view } of all) {
      const name = known(folder, id) ?? logicalIdOf(titleOf(view), taken);
      taken.add(name);
      names.set(keyOf(folder, id), name);
    }
  }
  return names;
}

/** Sorts by name, then by creation time, so that repeated exports of one account give the same names. */
function inOrder(stored: readonly Stored[]): Stored[] {
  const rank = ({ view, id }: Stored) => [
    titleOf(view),
    String(view['created_at']),
    String(view['id'] ?? id).padStart(12, '0'),
  ];
  return stored.toSorted((one, other) => {
    const [a, b] = [rank(one), rank(other)];
    const at = a.findIndex((part, index) => part !== b[index]);
    return at < 0 ? 0 : (a[at] ?? '') < (b[at] ?? '') ? -1 : 1;
  });
}

function titleOf(view: Fields): string {
  const config = (view['config'] ?? {}) as Fields;
  const ofChannel = [config['channel'], config['serviceName'], view['type']];
  const title = [view['slugName'], ...titlesOf(view), ...ofChannel].find(
    (one) => typeof one === 'string' && one !== '',
  );
  return String(title ?? '');
}

/** Removes an offset that the service derived from the check's id, so that it is chosen again. */
function withoutChosenOffset(view: Fields): Fields {
  const { frequencyOffset, ...rest } = view;
  const [id, frequency] = [view['id'], view['frequency']];
  if (typeof id !== 'string' || typeof frequency !== 'number' || frequency === 0) return view;
  return frequencyOffset === defaultOffset(id, frequency) ? rest : view;
}

/** Replaces hidden and confidential values with environment variables. */
function withEnvironmentValues(
  kind: Kind,
  fields: Fields,
  view: Fields,
  valueFor: (field: string) => EnvironmentValue,
): Fields {
  let done = fields;
  for (const { path, flags } of kind.masked(view)) {
    const shown = valueAt(view, path);
    if (flags === undefined) {
      if (shown === '') done = withValue(done, path, valueFor(path.join('.')));
    } else if (Array.isArray(shown)) {
      for (const [index, entry] of shown.entries()) {
        const isHidden = flags.some((flag) => (entry as Fields)[flag] === true);
        if (!isHidden || (entry as Fields)['value'] !== '') continue;
        const field = [...path, String((entry as Fields)['key'])].join('.');
        done = withValue(done, [...path, String(index), 'value'], valueFor(field));
      }
    }
  }
  for (const path of kind.confidential(view)) done = withValue(done, path, valueFor(path.join('.')));
  return done;
}

function variableOf(logicalId: string, field: string, taken: Set<string>): string {
  const [last = '', before = ''] = field.split('.').toReversed();
  const part = before === 'basicAuth' ? `basic_auth_${last}` : before === 'auth' ? `auth_${last}` : last;
  const base = `${logicalId}_${part}`
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase()
    .replace(/^(?=\d)/, '_');
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? base : `${base}_${count}`;
    if (taken.has(name)) continue;
    taken.add(name);
    return name;
  }
}

function keyOf(folder: string, id: unknown): string {
  return `${folder}/${String(id)}`;
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? (at as Fields)[key] : undefined),
    value,
  );
}

/** Returns a copy with one value set; creates missing objects on the path to it. */
function withValue(container: Fields, [key = '', ...rest]: readonly string[], value: unknown): Fields {
  const present = container[key];
  if (rest.length === 0) return { ...container, [key]: value };
  if (Array.isArray(present)) {
    const [index = '', ...below] = rest;
    const items = present.map((item, at) => (String(at) === index ? withValue(item, below, value) : item));
    return { ...container, [key]: items };
  }
  const inner = typeof present === 'object' && present !== null ? (present as Fields) : {};
  return { ...container, [key]: withValue(inner, rest, value) };
}
