import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { checkTypes } from '@picket/checks/index.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import { nearestName } from '@picket/lib/names/nearest-name.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The check type that `checkType` or `type` names, in any spelling; absent, the one that the URL shows.
 *
 * @returns also the name as it is written, in capitals and without punctuation.
 */
export function writtenType(
  fields: Fields,
): { readonly type: CheckType; readonly name: string } | { readonly problem: string } {
  const known = checkTypes.map(({ name }) => name).join(', ');
  const written = fields['checkType'] ?? fields['type'];
  if (typeof written !== 'string') {
    const scheme = schemeOf(fields);
    const type = fitting(
      fields,
      ({ shorthand }) => scheme !== undefined && !!shorthand?.schemes?.includes(scheme),
    );
    return type ? { type, name: type.name } : { problem: `checkType: is required; one of [${known}]` };
  }
  const bare = bareName(written);
  const type =
    checkTypes.find(({ name }) => bareName(name) === bare) ??
    fitting(fields, ({ shorthand }) => shorthand?.names?.includes(bare) === true);
  if (type) return { type, name: bare };
  const nearest = nearestName(written, known.split(', '));
  const meant = nearest === undefined ? '' : `; did you mean "${nearest}"?`;
  return { problem: `checkType: must be one of [${known}]${meant}` };
}

/** Of several types, the first that the fields need, else one that any fields fit. */
function fitting(fields: Fields, isMeant: (type: CheckType) => boolean): CheckType | undefined {
  const meant = checkTypes.filter(isMeant);
  return (
    meant.find(({ shorthand }) => shorthand?.needs?.(fields)) ??
    meant.find(({ shorthand }) => !shorthand?.needs)
  );
}

function bareName(name: string): string {
  return name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '');
}

function schemeOf(fields: Fields): string | undefined {
  const { request } = fields;
  const url = fields['url'] ?? (isRecord(request) ? request['url'] : undefined);
  return /^([a-z]+):\/\//i.exec(typeof url === 'string' ? url : '')?.[1]?.toLowerCase();
}
