import { nameAfter } from '@picket/checks/contract/definition/form-layout.ts';
import { withScheme } from '@picket/checks/contract/definition/shorthand.ts';
import type { FormPlan } from '../sections.ts';

/** Completes what users leave out of a form: the scheme of a URL and, if the form is saved, the name. */
export function completed(plan: FormPlan, form: URLSearchParams): URLSearchParams {
  const whole = new URLSearchParams(form);
  for (const [pattern, { scheme }] of Object.entries(plan.layout)) {
    const url = form.get(pattern);
    if (scheme === undefined || url === null) continue;
    const trimmed = url.trim();
    const { url: complete } = withScheme({ url: trimmed });
    whole.set(pattern, complete === undefined ? trimmed : String(complete).replace('https', scheme));
  }
  const isSaved = (form.get('$do') ?? 'save') === 'save';
  if (isSaved && whole.get('name')?.trim() === '') whole.set('name', madeName(plan, whole));
  return whole;
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
