import { z } from 'zod';
import { nearestName } from './nearest-name.ts';

/** A key of a value that is in none of its schemas. */
export interface UnknownField {
  readonly path: readonly (string | number)[];
  /** The known name that was probably meant, if one is similar. */
  readonly nearest: string | undefined;
}

/** A reader needs no more; a body may hold hundreds of thousands. */
const maxFound = 100;

/**
 * Returns the keys of a JSON value, at any depth, that no schema knows and that parsing would drop silently. Accepts
 * every key where a schema allows any value or any key.
 *
 * @param ignored paths of keys that are accepted and have no effect, with `*` for any index: `list.*.order`.
 */
export function findUnknownFields(
  schemas: readonly z.ZodType[],
  value: unknown,
  ignored: ReadonlySet<string> = new Set(),
): UnknownField[] {
  const found: UnknownField[] = [];
  visit(schemas, value, { path: [], ignored, found });
  return found;
}

interface Place {
  readonly path: readonly (string | number)[];
  readonly ignored: ReadonlySet<string>;
  readonly found: UnknownField[];
}

function visit(schemas: readonly z.ZodType[], value: unknown, place: Place): void {
  if (typeof value !== 'object' || value === null || place.found.length >= maxFound) return;
  const forms = schemas.flatMap((schema) => formsOf(schema, value));
  if (Array.isArray(value)) {
    const items = forms.flatMap((form) => (form instanceof z.ZodArray ? [form.element as z.ZodType] : []));
    if (items.length === 0) return;
    for (const [index, item] of value.entries()) visit(items, item, within(place, index));
    return;
  }
  const maps = forms.filter((form) => form instanceof z.ZodRecord);
  const objects = forms.filter((form) => form instanceof z.ZodObject);
  const isOpen =
    (maps.length === 0 && objects.length === 0) ||
    objects.some(({ def }) => def.catchall !== undefined && !(def.catchall instanceof z.ZodNever));
  for (const [key, child] of Object.entries(value)) {
    const known = objects.flatMap(({ shape }) =>
      Object.hasOwn(shape, key) ? [shape[key] as z.ZodType] : [],
    );
    const schemasOfChild = [...known, ...maps.map(({ valueType }) => valueType as z.ZodType)];
    if (schemasOfChild.length > 0) visit(schemasOfChild, child, within(place, key));
    else if (!isOpen && !isIgnored(key, place) && place.found.length < maxFound) {
      const names = objects.flatMap(({ shape }) => Object.keys(shape));
      place.found.push({ path: [...place.path, key], nearest: nearestName(key, names) });
    }
  }
}

function within(place: Place, key: string | number): Place {
  return { ...place, path: [...place.path, key] };
}

function isIgnored(key: string, { path, ignored }: Place): boolean {
  return ignored.has([...path.map((part) => (typeof part === 'number' ? '*' : part)), key].join('.'));
}

/** Returns the schemas inside a wrapper or a union that may apply to a value. */
function formsOf(schema: z.ZodType, value: object): z.ZodType[] {
  if (schema instanceof z.ZodPipe) {
    // The input side describes written values, the output side shown values.
    return [schema.in, schema.out].flatMap((side) => formsOf(side as z.ZodType, value));
  }
  if (schema instanceof z.ZodUnion)
    return branchesFor(schema, value).flatMap((branch) => formsOf(branch, value));
  if (schema instanceof z.ZodIntersection) {
    return [schema.def.left, schema.def.right].flatMap((side) => formsOf(side as z.ZodType, value));
  }
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodReadonly ||
    schema instanceof z.ZodLazy
  ) {
    return formsOf(schema.unwrap() as z.ZodType, value);
  }
  return [schema];
}

/** Returns the branches of a union that may apply to a value: the one named by its discriminator, else all. */
function branchesFor(union: z.ZodUnion, value: object): readonly z.ZodType[] {
  const branches = union.options as readonly z.ZodType[];
  if (!(union instanceof z.ZodDiscriminatedUnion)) return branches;
  const { discriminator } = union.def;
  const named = branches.filter((branch) => {
    const field = branch instanceof z.ZodObject ? (branch.shape[discriminator] as z.ZodType) : undefined;
    return field?.safeParse((value as Readonly<Record<string, unknown>>)[discriminator]).success === true;
  });
  return named.length > 0 ? named : branches;
}
