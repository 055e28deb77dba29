import { yamlText } from '../../../src/cli/project/files.ts';
import type { Imported } from '../../../src/extras/importers/collection.ts';

/**
 * Fields of a source that an import silently ignores: a different value does not change the result, and no list
 * mentions the field before or after the change.
 */
export function silentFields(source: unknown, read: (source: unknown) => Imported): string[] {
  const said = ({ definitions, values }: Imported) => yamlText({ definitions, values });
  const before = read(source);
  const saidBefore = said(before);
  return leavesOf(source)
    .filter((path) => {
      const field = path.join('.');
      const isListed = ({ losses }: Imported) =>
        losses.some((loss) => field === loss.field || field.startsWith(`${loss.field}.`));
      if (isListed(before)) return false;
      const after = read(changedAt(source, path));
      return !isListed(after) && said(after) === saidBefore;
    })
    .map((path) => path.join('.'));
}

/** Every field of a source that has a value, with its path. */
function leavesOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => leavesOf(item, [...path, String(index)]));
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).flatMap(([key, child]) => leavesOf(child, [...path, key]));
  }
  return [path];
}

/** Returns a copy in which one field has another value of the same kind. */
function changedAt(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return changed(value);
  if (Array.isArray(value)) {
    return value.map((item, index) => (String(index) === key ? changedAt(item, rest) : item));
  }
  const fields = value as Readonly<Record<string, unknown>>;
  return { ...fields, [key]: changedAt(fields[key], rest) };
}

function changed(value: unknown): unknown {
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return value + 1;
  const text = String(value);
  const [, count = '', unit = ''] = /^(\d+)(ms|[smhd])$/.exec(text) ?? [];
  if (unit !== '') return `${Number(count) + 60}${unit}`;
  return /^[A-Z]+$/.test(text) ? `${text}X` : `${text}-other`;
}
