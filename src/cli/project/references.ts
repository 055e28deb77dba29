import { isRecord } from '@picket/lib/json/record.ts';
import type { Fields, Reference } from '@picket/protocol/projects/kind.ts';

/** What stands for an id in the other form. */
export type Translate = (to: string, id: unknown, path: string) => unknown;

/** Fields of the API as a file has them. */
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

/** Fields of a file as the API has them. */
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

/** The field of a file that a field of the API stands for, in messages. */
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

/** A copy in which one field has another name, at its old place, and another value. */
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
