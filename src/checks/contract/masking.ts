/**
 * Values of a definition that answers never show: they are there as "". Which ones they are is data, declared
 * by the check types; a text that is masked unless it only names a variable, or the values of a list of
 * `{key, value}` entries with one of some flags.
 */
export interface MaskedValue {
  /** The keys that lead from the definition to the text or the list. */
  readonly path: readonly [string, ...string[]];
  /** For lists: an entry's value is masked when one of these fields of it is true. */
  readonly flags?: readonly string[];
  /** For texts in which nothing is filled in: one that looks like the name of a variable is a value, too. */
  readonly isLiteral?: true;
}

/** A text that is `{{NAME}}` and nothing else: the value is the variable's, which is hidden or not by itself. */
const variableReference = /^\{\{\s*[A-Za-z_][A-Za-z0-9_]*\s*\}\}$/;

type Definition = Readonly<Record<string, unknown>>;
type Entry = Readonly<Record<string, unknown>>;

/** A definition as answers show it. */
export function maskDefinition(masked: readonly MaskedValue[], definition: Definition): Definition {
  return masked.reduce(
    (result, { path, flags, isLiteral = false }) =>
      change(result, path, (value) => {
        if (!flags) return isHidden(value, isLiteral) ? '' : value;
        return (
          entriesOf(value)?.map((entry) => (isMasked(entry, flags) ? { ...entry, value: '' } : entry)) ??
          value
        );
      }),
    definition,
  );
}

/**
 * A body as its author meant it. Writing an answer back must not wipe what it did not show: a masked "" keeps
 * the stored value. Entries are matched by their key; of those with one key the first goes with the first,
 * and so on.
 */
export function keepMasked(masked: readonly MaskedValue[], body: Definition, stored: Definition): Definition {
  return masked.reduce(
    (result, { path, flags, isLiteral = false }) =>
      change(result, path, (value) => {
        const before = valueAt(stored, path);
        if (!flags) return value === '' && isHidden(before, isLiteral) ? before : value;
        return entriesOf(value) ? keepEntries(value as unknown[], entriesOf(before) ?? [], flags) : value;
      }),
    body,
  );
}

/**
 * The values that `maskDefinition` hides, to be removed from results as well. One with a template in it
 * consists of variables, which are secret or not by themselves.
 */
export function maskedTexts(masked: readonly MaskedValue[], definition: Definition): string[] {
  return masked
    .flatMap(({ path, flags }) => {
      const value = valueAt(definition, path);
      if (!flags) return [value];
      return (entriesOf(value) ?? []).filter((entry) => isMasked(entry, flags)).map((entry) => entry.value);
    })
    .filter((value) => typeof value === 'string' && value !== '' && !value.includes('{{')) as string[];
}

function keepEntries(
  written: readonly unknown[],
  stored: readonly Entry[],
  flags: readonly string[],
): unknown[] {
  const left = Map.groupBy(
    stored.filter((entry) => isMasked(entry, flags)),
    (entry) => entry.key,
  );
  return written.map((entry) => {
    if (!isRecord(entry) || !isMasked(entry, flags)) return entry;
    const before = left.get(entry.key)?.shift();
    return before && entry.value === '' ? { ...entry, value: before.value } : entry;
  });
}

function isHidden(value: unknown, isLiteral: boolean): boolean {
  return typeof value === 'string' && (isLiteral || !variableReference.test(value));
}

function isMasked(entry: unknown, flags: readonly string[]): boolean {
  return isRecord(entry) && flags.some((flag) => entry[flag] === true);
}

/** A copy with one value changed; the same object where the path leads nowhere. */
function change(
  container: Definition,
  [key, ...rest]: readonly string[],
  map: (value: unknown) => unknown,
): Definition {
  if (key === undefined || !Object.hasOwn(container, key)) return container;
  const value = container[key];
  if (rest.length === 0) return { ...container, [key]: map(value) };
  return isRecord(value) ? { ...container, [key]: change(value, rest, map) } : container;
}

function valueAt(container: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    container,
  );
}

function entriesOf(value: unknown): readonly Entry[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
