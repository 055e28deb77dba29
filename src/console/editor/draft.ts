import { isDeepStrictEqual } from 'node:util';
import type { MaskedValue } from '@picket/checks/contract/masking.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import type { Field } from '../forms/field.ts';
import { objectOf, rowCount, valuesOf } from '../forms/values.ts';
import { asShown, asWritten } from './adapters.ts';

type Entry = Readonly<Record<string, unknown>>;

/** An unsaved definition, in the form of the API and as form inputs. */
export interface Draft {
  readonly definition: Record<string, unknown>;
  readonly values: URLSearchParams;
}

/** Creates the draft of a definition. */
export function draftOf(fields: readonly Field[], definition: Entry): Draft {
  return { definition: { ...definition }, values: valuesOf(fields, asShown(definition)) };
}

/** Creates a draft from a form. Renumbers rows as the API will in its messages. */
export function typedDraft(fields: readonly Field[], form: URLSearchParams, stored?: Entry): Draft {
  const shown = objectOf(fields, form, stored && asShown(stored));
  return { definition: asWritten(shown, stored), values: valuesOf(fields, shown) };
}

/** Returns the fields of a draft that differ from the stored ones. */
export function changesOf(draft: Draft, stored: Entry): Record<string, unknown> {
  const changed = Object.entries(draft.definition).filter(
    ([key, value]) => !isDeepStrictEqual(value, stored[key]),
  );
  return Object.fromEntries(changed);
}

/** Adds or removes a row of a form as the action requests; any other action changes nothing. */
export function withRows(values: URLSearchParams, action: string): URLSearchParams {
  const [verb, name = '', number] = action.split(' ');
  const prefix = `${name}.`;
  const rows = Map.groupBy(
    [...values].filter(([key]) => key.startsWith(prefix)),
    ([key]) => Number.parseInt(key.slice(prefix.length), 10),
  );
  if (verb === 'add') {
    const changed = new URLSearchParams(values);
    changed.set(`${prefix}${rows.size}.`, '');
    return changed;
  }
  if (verb !== 'remove') return values;
  const removed = Number(number);
  return new URLSearchParams(
    [...values].flatMap(([key, value]): [string, string][] => {
      const index = key.startsWith(prefix) ? Number.parseInt(key.slice(prefix.length), 10) : -1;
      if (index === removed) return [];
      const moved = index > removed ? key.replace(`${prefix}${index}.`, `${prefix}${index - 1}.`) : key;
      return [[moved, value]];
    }),
  );
}

/** Adds an assertion that was chosen from a result, unless the form has it. */
export function withAssertion(values: URLSearchParams, text: string): URLSearchParams {
  const assertion = new URLSearchParams(text);
  const count = rowCount(assertions, values);
  const isThere = Array.from({ length: count }).some((_, index) =>
    assertedFields.every(
      (key) => (values.get(`${assertions}.${index}.${key}`) ?? '') === (assertion.get(key) ?? ''),
    ),
  );
  if (isThere) return values;
  const changed = new URLSearchParams(values);
  for (const key of assertedFields) changed.set(`${assertions}.${count}.${key}`, assertion.get(key) ?? '');
  return changed;
}

const assertions = 'request.assertions';
const assertedFields = ['source', 'property', 'comparison', 'target'] as const;

/** Returns the inputs whose stored values are hidden: left empty, they keep their values. */
export function hiddenInputs(masked: readonly MaskedValue[], definition: Entry, stored: Entry): Set<string> {
  const names = masked.flatMap(({ path, flags }) => {
    const name = path.join('.');
    if (!flags) return valueAt(stored, path) === '' && valueAt(definition, path) === '' ? [name] : [];
    const known = entriesOf(valueAt(stored, path)).filter((entry) => isFlagged(entry, flags));
    return entriesOf(valueAt(definition, path)).flatMap((entry, index) =>
      entry['value'] === '' && isFlagged(entry, flags) && known.some(({ key }) => key === entry['key'])
        ? [`${name}.${index}.value`]
        : [],
    );
  });
  return new Set(names);
}

/**
 * Returns the values that would be lost: they were hidden under another name or flag, or in the copied check, and must
 * be entered again.
 */
export function lostSecrets(
  masked: readonly MaskedValue[],
  draft: Entry,
  { stored, isCopy }: { readonly stored: Entry; readonly isCopy: boolean },
): { key: string; message: string }[] {
  return masked.flatMap(({ path, flags }) => {
    const name = path.join('.');
    const [now, before] = [valueAt(draft, path), valueAt(stored, path)];
    const message = 'must be entered again: its stored value is hidden';
    if (!flags) return isCopy && now === '' ? [{ key: name, message }] : [];
    const hidden = entriesOf(before).filter((entry) => isFlagged(entry, flags));
    const isKept = (entry: Entry) =>
      !isCopy && isFlagged(entry, flags) && hidden.some(({ key }) => key === entry['key']);
    const isFromHidden = (entry: Entry, index: number) =>
      isFlagged(entry, flags) ||
      hidden.some(({ key }) => key === entry['key']) ||
      hidden.includes(entriesOf(before)[index] ?? {});
    return entriesOf(now).flatMap((entry, index) =>
      entry['value'] === '' && isFromHidden(entry, index) && !isKept(entry)
        ? [{ key: `${name}.${index}.value`, message }]
        : [],
    );
  });
}

function isFlagged(entry: Entry, flags: readonly string[]): boolean {
  return flags.some((flag) => entry[flag] === true);
}

function valueAt(container: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), container);
}

function entriesOf(value: unknown): readonly Entry[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
