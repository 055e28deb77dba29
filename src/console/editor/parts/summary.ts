import { counted, shortened } from '../../elements/format.ts';
import { type Field, objectWord } from '../../forms/field.ts';
import { isInitial, linesOf, rowCount } from '../../forms/values.ts';
import { type FormView, labelOf, optionsOf } from '../../forms/view.ts';

const mostShown = 4;

/** Describes in one line what is set in fields; empty if all have their defaults. */
export function summaryOf(fields: readonly Field[], view: FormView): string {
  const set = fields.flatMap((field) => setIn(field, field.pattern, view));
  const more = set.length - mostShown;
  return [...set.slice(0, mostShown), ...(more > 0 ? [`${more} more`] : [])].join(' · ');
}

function setIn(field: Field, name: string, view: FormView): string[] {
  const { layout, values, hidden } = view;
  const own = layout[field.pattern] ?? {};
  const label = own.label ?? labelOf(field.key);
  if (field.kind === 'fixed') return [];
  if (field.kind === 'part') {
    return field.fields.flatMap((one) => setIn(one, `${name}.${one.key}`, view));
  }
  if (field.kind === 'rows') {
    const count = rowCount(name, values);
    return count === 0 ? [] : [counted(count, label.toLowerCase().replace(/s$/, ''))];
  }
  if (hidden.has(name)) return [`${label}: set`];
  if (isInitial(field, values, name)) return [];
  const value = values.get(name) ?? '';
  switch (field.kind) {
    case 'switch':
      return [value === 'true' ? label : `${label}: off`];
    case 'choice':
    case 'set':
    case 'list': {
      const choices = own.choices ?? optionsOf(field, own);
      const words = linesOf(values, name).map(
        (one) => choices.find((known) => known.value === one)?.word ?? one,
      );
      return words.length === 0 ? [`${label}: none`] : [`${label}: ${shortened(words.join(', '), 60)}`];
    }
    case 'variant': {
      const { pick } = field;
      const picked = pick && optionsOf(pick, layout[pick.pattern] ?? {}).find((one) => one.value === value);
      return [
        `${label}: ${picked?.word ?? own.words?.[value] ?? (value === objectWord ? 'set' : value || 'none')}`,
      ];
    }
    default: {
      const known = own.choices?.find((one) => one.value === value)?.word;
      const isLong = own.lines !== undefined || field.key === 'password' || field.kind === 'json';
      return [`${label}: ${known ?? (value === '' ? 'none' : isLong ? 'set' : shortened(value, 40))}`];
    }
  }
}
