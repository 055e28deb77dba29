import { nameAfter } from '@picket/checks/contract/definition/form-layout.ts';
import { withScheme } from '@picket/checks/contract/definition/shorthand.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import { type Field, objectWord } from '../../forms/field.ts';
import type { FormPlan } from '../sections.ts';

type Entry = Readonly<Record<string, unknown>>;

/**
 * Completes what users leave out of a form: the scheme of a URL and, if the form is saved, the name, and the defaults
 * of fields that are hidden because something chosen in the form outweighs them.
 *
 * @param stored the basis of the form; undefined for a new check.
 */
export function completed(plan: FormPlan, form: URLSearchParams, stored?: Entry): URLSearchParams {
  const whole = new URLSearchParams(form);
  for (const [pattern, { scheme }] of Object.entries(plan.layout)) {
    const url = form.get(pattern);
    if (scheme === undefined || url === null) continue;
    const trimmed = url.trim();
    const { url: complete } = withScheme({ url: trimmed });
    whole.set(pattern, complete === undefined ? trimmed : String(complete).replace('https', scheme));
  }
  const isSaved = (form.get('$do') ?? 'save') === 'save';
  if (!isSaved) return whole;
  if (whole.get('name')?.trim() === '') whole.set('name', madeName(plan, whole));
  for (const [pattern, { unusedWith }] of Object.entries(plan.layout)) {
    if (unusedWith === undefined || form.get(unusedWith) !== objectWord) continue;
    // With an earlier choice the field keeps its value: someone may have set it since.
    const before = unusedWith
      .split('.')
      .reduce<unknown>((one, key) => (one as Entry | undefined)?.[key], stored);
    const field = fieldAt(plan.fields, pattern);
    if (field && !isRecord(before)) whole.set(pattern, String(field.initial ?? ''));
  }
  return whole;
}

/** Returns the field with a pattern, also in a part. */
function fieldAt(fields: readonly Field[], pattern: string): Field | undefined {
  for (const field of fields) {
    if (field.pattern === pattern) return field;
    if (field.kind === 'part' && pattern.startsWith(`${field.pattern}.`))
      return fieldAt(field.fields, pattern);
  }
  return undefined;
}

/** Returns the name of a check that has none. */
export function madeName(plan: FormPlan, values: URLSearchParams): string {
  const { pattern, names } = nameSource(plan) ?? {};
  return pattern === undefined || names === undefined ? '' : nameAfter(values.get(pattern) ?? '', names);
}

/** Returns the field after which a check is named. */
export function nameSource({ layout }: FormPlan) {
  const found = Object.entries(layout).find(([, { names }]) => names !== undefined);
  return found && { pattern: found[0], names: found[1].names };
}
