import { maskDefinition } from '@picket/checks/contract/masking.ts';
import { withoutDefaults } from '@picket/lib/json/without-defaults.ts';
import type { Fields, Kind } from '@picket/protocol/projects/kind.ts';
import { kindIn } from '@picket/protocol/projects/kinds.ts';
import { mapEnvironmentValues } from './environment-values.ts';
import { toApi, toFile } from './references.ts';

/**
 * Returns the canonical form of a file: fields in the order of the API, without defaults, hidden values as "", lists
 * without a meaningful order sorted. Files with the same meaning have the same form.
 *
 * @param fields of the API; those that do not fit the schema stay unchanged.
 */
export function canonicalApi(kind: Kind, fields: Fields): Fields {
  const shown = kind.shown(fields);
  if (!shown) return fields;
  const known = Object.fromEntries(
    shown.keys.flatMap((key) => (fields[key] === undefined ? [] : [[key, fields[key]] as const])),
  );
  const masked = maskDefinition(kind.masked(fields), withoutOwn(known));
  return withoutDefaults(shown.schema, masked);
}

/** Does the same for a file; its values from the environment count as hidden. */
export function canonicalFile(kind: Kind, fields: Fields): Fields {
  const names = new Map<string, string>();
  const inverse = new Map<unknown, string>();
  const standIn = (to: string, name: unknown) => {
    const known = names.get(`${to}/${name}`);
    if (known !== undefined) return standInOf(to, known);
    const count = String(names.size + 1);
    names.set(`${to}/${name}`, count);
    const id = standInOf(to, count);
    inverse.set(`${to} ${id}`, String(name));
    return id;
  };
  const read = (value: string) =>
    toApi(kind.references, mapEnvironmentValues(fields, () => value) as Fields, standIn);
  const [api = read('')] = valueStandIns
    .map(read)
    .filter((one) => kind.shown(one)?.schema.safeParse(one).success);
  const canonical = canonicalApi(kind, api);
  return sortedNames(
    kind,
    toFile(kind.references, canonical, (to, id) => inverse.get(`${to} ${id}`) ?? id),
  );
}

/** Substitutes for a value from the environment, one for each format that a schema may require. */
const valueStandIns = ['', 'https://hidden.invalid/'];

/** Returns an id that the schema accepts in place of a name. */
export function standInOf(to: string, count: string): string | number {
  return kindIn(to).isNumbered ? Number(count) : `00000000-0000-4000-8000-${count.padStart(12, '0')}`;
}

/** Sorts names in lists that are sets. */
export function sortedNames(kind: Kind, fields: Fields): Fields {
  const sets = [
    ...kind.references.filter(({ file }) => !file.includes('.')).map(({ file }) => file),
    'privateLocations',
  ];
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [
      key,
      sets.includes(key) && Array.isArray(value) ? value.toSorted(byName) : value,
    ]),
  );
}

function byName(one: unknown, other: unknown): number {
  const [first, second] = [one, other].map((item) => JSON.stringify(item));
  return (first ?? '') < (second ?? '') ? -1 : 1;
}

/** Removes ping URLs and the ids of cards: the service assigns them, and they differ in another account. */
function withoutOwn(fields: Fields): Fields {
  const { heartbeat, cards, version } = fields;
  const changed: Record<string, unknown> = {};
  if (typeof heartbeat === 'object' && heartbeat !== null) {
    const { pingToken: _token, pingUrl: _url, ...rest } = heartbeat as Fields;
    changed['heartbeat'] = rest;
  }
  if (Array.isArray(cards)) {
    changed['cards'] = cards.map(({ id: _id, statusPageId: _page, ...card }: Fields) => card);
  }
  // A component page has no cards, whether its file says so or not.
  if (version === 3) changed['cards'] = undefined;
  return { ...fields, ...changed };
}
