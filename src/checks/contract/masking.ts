import { AppError } from '@picket/lib/errors.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import { type AddressValues, originOf } from '@picket/lib/wire/address-origin.ts';

/**
 * Values of a definition that API responses show as "". The check types declare them as data: a text, masked unless it
 * only names a variable; or the values of those `{key, value}` entries of a list that have one of certain flags set.
 */
export interface MaskedValue {
  /** Keys that lead from the definition to the text or the list. */
  readonly path: Path;
  /** For lists: an entry's value is masked if one of these fields of the entry is true. */
  readonly flags?: readonly string[];
  /** For texts without templates: one that looks like the name of a variable is masked, too. */
  readonly isLiteral?: true;
  /**
   * Fields that determine the destination of the value. A stored value is not kept if one of them changes, or a
   * variable in one of them.
   */
  readonly sentTo?: readonly Path[];
}

export type Path = readonly [string, ...string[]];

/** A text that is `{{NAME}}` and nothing else: the value belongs to the variable, which is masked or not on its own. */
const variableReference = /^\{\{\s*[A-Za-z_][A-Za-z0-9_]*\s*\}\}$/;

type Definition = Readonly<Record<string, unknown>>;
type Entry = Readonly<Record<string, unknown>>;

/** Returns a definition as API responses show it. */
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
 * Fills in the values that API responses hide. Writing a response back must not erase them: a masked "" keeps the
 * stored value. Entries are matched by key; among entries with the same key, by order. A value stays bound to the
 * address that it was entered for.
 *
 * @throws AppError VALIDATION_FAILED for values that would be sent to another origin without being entered again.
 */
export function keepMasked(
  masked: readonly MaskedValue[],
  body: Definition,
  stored: Definition,
  { merge = (patch) => patch, valuesBefore = {}, valuesAfter = {} }: Keeping = {},
): Definition {
  const patch = fillMasked(masked, body, stored);
  refuseMoved(masked, { body, stored, after: merge(patch), valuesBefore, valuesAfter });
  return patch;
}

/** Values of the variables in addresses, before and after a change. */
export interface ValuesAround {
  readonly valuesBefore: AddressValues;
  readonly valuesAfter: AddressValues;
}

/** How a body becomes a definition: without `merge`, it replaces the stored one. */
export interface Keeping extends Partial<ValuesAround> {
  readonly merge?: ((patch: Definition) => Definition) | undefined;
}

/**
 * Returns the fields of a definition with hidden values that would go to another origin because variables have changed.
 */
export function movedFields(
  masked: readonly MaskedValue[],
  definition: Definition,
  valuesBefore: AddressValues,
  valuesAfter: AddressValues,
): string[] {
  const change = { body: {}, stored: definition, after: definition, valuesBefore, valuesAfter };
  return masked.flatMap((value) => (movedAddress(value, change) ? keptFields(value, change) : []));
}

/** The first half of `keepMasked`, for bodies that are validated before their addresses are read. */
export function fillMasked(masked: readonly MaskedValue[], body: Definition, stored: Definition): Definition {
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
 * Returns the values that `maskDefinition` hides, to be removed from results as well. A value with a template consists
 * of variables, which are secret or not on their own.
 */
export function maskedTexts(masked: readonly MaskedValue[], definition: Definition): string[] {
  const texts: string[] = [];
  const add = (value: unknown) => {
    if (isOwnText(value)) texts.push(value);
  };
  // Called for each run: most definitions have no such value, and no field needs a name here.
  for (const { path, flags } of masked) {
    const value = valueAt(definition, path);
    if (!flags) add(value);
    else for (const entry of entriesOf(value) ?? []) if (isMasked(entry, flags)) add(entry.value);
  }
  return texts;
}

/** Returns the same values with the field and name of each: the key of an entry, or the field. */
export function maskedEntries(
  masked: readonly MaskedValue[],
  definition: Definition,
): { readonly field: string; readonly name: string; readonly value: string }[] {
  return masked.flatMap(({ path, flags }) => {
    const [field, value] = [path.join('.'), valueAt(definition, path)];
    const all = flags
      ? (entriesOf(value) ?? []).flatMap((entry, index) =>
          isMasked(entry, flags)
            ? [{ field: `${field}.${index}.value`, name: String(entry.key), value: entry.value }]
            : [],
        )
      : [{ field, name: field, value }];
    return all.flatMap(({ value: text, ...named }) => (isOwnText(text) ? [{ ...named, value: text }] : []));
  });
}

/** Whether a value is a text of its own, without templates. */
function isOwnText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !value.includes('{{');
}

/** A change: the body, the stored definition, and the definition that would be stored. */
interface Change extends ValuesAround {
  readonly body: Definition;
  readonly stored: Definition;
  readonly after: Definition;
}

/**
 * Refuses a change that sends a value that its author cannot see to another destination than the one it was entered
 * for: permission to write a webhook must not allow its author to read locked headers at a server of their own.
 *
 * @throws AppError VALIDATION_FAILED
 */
export function refuseMoved(masked: readonly MaskedValue[], change: Change): void {
  const problems = masked.flatMap((value) => {
    const address = movedAddress(value, change);
    if (!address) return [];
    const name = address.join('.');
    return keptFields(value, change).map((key) => ({
      key,
      message: `must be entered again, because "${name}" now points to a different address`,
    }));
  });
  if (problems.length === 0) return;
  throw new AppError(
    'VALIDATION_FAILED',
    problems.map(({ key, message }) => `"${key}" ${message}`).join('; '),
    { validation: { source: 'payload', keys: problems.map(({ key }) => key), problems } },
  );
}

/** Returns the field whose change sends a value to another origin than before. */
function movedAddress({ sentTo }: MaskedValue, change: Change): Path | undefined {
  const { stored, after, valuesBefore, valuesAfter } = change;
  return sentTo?.find(
    (path) => originOf(valueAt(after, path), valuesAfter) !== originOf(valueAt(stored, path), valuesBefore),
  );
}

/** Returns the fields with a hidden stored value that the body does not enter again. */
function keptFields({ path, flags, isLiteral }: MaskedValue, { body, stored, after }: Change): string[] {
  const name = path.join('.');
  const [written, before, now] = [valueAt(body, path), valueAt(stored, path), valueAt(after, path)];
  if (!flags) {
    const isEntered = typeof written === 'string' && written !== '';
    return !isEntered && now === before && before !== '' && isHidden(before, isLiteral === true)
      ? [name]
      : [];
  }
  const known = new Set(
    (entriesOf(before) ?? []).filter((entry) => isMasked(entry, flags)).map(({ value }) => value),
  );
  return (entriesOf(now) ?? []).flatMap((entry, index) => {
    const isEntered = Boolean(entriesOf(written)?.[index]?.value);
    const isKept = isMasked(entry, flags) && entry.value !== '' && known.has(entry.value);
    return isKept && !isEntered ? [`${name}.${index}.value`] : [];
  });
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

/** Returns a copy with one value changed; the same object if the path does not exist. */
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
