import { isRecord } from '@picket/lib/json/record.ts';
import type { Fields, Reference } from '@picket/protocol/projects/kind.ts';

/** Returns the name for an id, or the id for a name. */
export type Translate = (to: string, id: unknown, path: string) => unknown;

/** Converts fields of the API to those of a file. */
export function toFile(references: readonly Reference[], fields: Fields, nameOf: Translate): Fields {
  return references.reduce(
    (done, { file, api, to, item }) =>
      rename(done, api, file, (value, path) =>
        each(value, (one) =>
          item === undefined ? nameOf(to, one, path) : itemToFile(one, item, (id) => nameOf(to, id, path)),
        ),
      ),
    fields,
  );
}

/** Converts fields of a file to those of the API. */
export function toApi(references: readonly Reference[], fields: Fields, idOf: Translate): Fields {
  return references.reduce(
    (done, { file, api, to, item }) =>
      rename(done, file, api, (value, path) =>
        each(value, (one) =>
          item === undefined ? idOf(to, one, path) : itemToApi(one, item, (name) => idOf(to, name, path)),
        ),
      ),
    fields,
  );
}

/** Returns the field of a file for a field of the API, for messages. */
export function fieldInFile(references: readonly Reference[], path: readonly PropertyKey[]): string {
  const written = path.map(String).join('.');
  const found = references.find(({ api }) => written === api || written.startsWith(`${api}.`));
  return found ? found.file + written.slice(found.api.length) : written;
}

function each(value: unknown, map: (one: unknown) => unknown): unknown {
  if (value === null) return null;
  return Array.isArray(value) ? value.map(map) : map(value);
}

function itemToFile(item: unknown, key: string, nameOf: (id: unknown) => unknown): unknown {
  if (!isRecord(item)) return item;
  const name = nameOf(item[key]);
  return item['activated'] === false ? { name, activated: false } : name;
}

function itemToApi(item: unknown, key: string, idOf: (name: unknown) => unknown): unknown {
  if (!isRecord(item)) return { [key]: idOf(item) };
  const { name, ...rest } = item;
  return name === undefined ? item : { [key]: idOf(name), ...rest };
}

/** Returns a copy in which one field has another name, in the same position, and another value. */
function rename(
  container: Fields,
  from: string,
  to: string,
  map: (value: unknown, path: string) => unknown,
  above = '',
): Fields {
  const [key = '', ...below] = from.split('.');
  const [newKey = '', ...newBelow] = to.split('.');
  if (!Object.hasOwn(container, key)) return container;
  const path = above === '' ? key : `${above}.${key}`;
  return Object.fromEntries(
    Object.entries(container).map(([name, value]) => {
      if (name !== key) return [name, value];
      if (below.length === 0) return [newKey, map(value, path)];
      if (below[0] === '*' && Array.isArray(value)) {
        const inner = [below.slice(1).join('.'), newBelow.slice(1).join('.')] as const;
        const items = value.map((item: unknown, index) =>
          isRecord(item) ? rename(item, ...inner, map, `${path}.${index}`) : item,
        );
        return [name, items];
      }
      return [name, isRecord(value) ? rename(value, below.join('.'), newBelow.join('.'), map, path) : value];
    }),
  );
}
