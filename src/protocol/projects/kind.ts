import type { MaskedValue } from '@picket/checks/contract/masking.ts';
import { z } from 'zod';
import type { ResourceApi } from '../http/resource.ts';
import type { Route } from '../http/route.ts';

/** Fields of a file, or of the API. */
export type Fields = Readonly<Record<string, unknown>>;

/** The operations of a kind of resources. */
export interface KindRoutes {
  readonly list: Route;
  readonly create: Route;
  readonly get: Route;
  /** Absent for resources that are created and deleted, never changed. */
  readonly update?: Route;
  readonly delete: Route;
}

/**
 * A reference from one definition to others. The API contains ids there; files contain file names, which have the same
 * meaning in every account.
 */
export interface Reference {
  /** The field in a file. Dots separate nested keys, `*` stands for each item of a list. */
  readonly file: string;
  /** The field in the API: it differs only in its last part. */
  readonly api: string;
  /** The folder of the referenced kind. */
  readonly to: string;
  /** For lists whose items are objects in the API: the key of the id. Files contain only the name. */
  readonly item?: string;
}

interface Written {
  /** The API's schema for such fields; undefined if the deciding field is invalid. */
  readonly schema: (fields: Fields) => z.ZodType | undefined;
  /** The same with hidden values as "", and the names of all fields. */
  readonly shown: (
    fields: Fields,
  ) => { readonly schema: z.ZodType; readonly keys: readonly string[] } | undefined;
  /** The field that decides on the schema, if there is one. */
  readonly decidedBy?: string;
  /** Values that API responses never show. */
  readonly masked: (fields: Fields) => readonly MaskedValue[];
  /** Paths of values that the API shows but files should not contain: exports replace them with required variables. */
  readonly confidential: (fields: Fields) => readonly (readonly string[])[];
  readonly references: readonly Reference[];
  /** Operations that return such resources, besides `list`, `get` and `update`. */
  readonly shownBy?: readonly Route[];
  /**
   * Whether imports offer it only if a filter names its type: other programs import everything and do not know this
   * kind.
   */
  readonly isImportedByName?: boolean;
  /**
   * Resources removed from the code are deleted before anything is written, lowest number first: their replacements may
   * have the same URL or key. Absent: deleted at the end, when nothing refers to them.
   */
  readonly deletedFirst?: number;
}

/**
 * One kind of resources that can be kept as code: everything that the command line and the service need to know about
 * it.
 */
export interface Kind<Type extends string = string, Folder extends string = string> extends Written {
  /** Its name in deployments. */
  readonly type: Type;
  /** The folder of its files in a project. */
  readonly folder: Folder;
  readonly routes: KindRoutes;
  /** The parameter in its paths. */
  readonly key: string;
  /** Whether the database assigns numbers as ids. */
  readonly isNumbered: boolean;
}

/** Defines a kind by its operations: the defaults are derived from the body of the creating operation. */
export function defineKind<const Type extends string, const Folder extends string>(
  declared: { readonly type: Type; readonly folder: Folder; readonly routes: KindRoutes } & Partial<Written>,
): Kind<Type, Folder> {
  const { routes } = declared;
  const schema = () => routes.create.body ?? z.object({});
  const [, key = ''] = /\{(\w+)\}/.exec(routes.get.path) ?? [];
  return {
    key,
    isNumbered: typeof routes.get.params?.shape[key]?.safeParse('1').data === 'number',
    schema,
    shown: () => ({ schema: schema(), keys: keysOf(schema()) }),
    masked: () => [],
    confidential: () => [],
    references: [],
    ...declared,
  };
}

type Hyphenated<Words extends string> = Words extends `${infer First} ${infer Rest}`
  ? `${First}-${Hyphenated<Rest>}`
  : Words;

/** Defines the kind of a plain account resource: its type and its folder are its noun in singular and plural. */
export function resourceKind<const Api extends ResourceApi>(
  { noun, plural, routes }: Api,
  declared: Partial<Written> = {},
): Kind<Hyphenated<Api['noun']>, Hyphenated<PluralOf<Api>>> {
  const type = hyphenated<Api['noun']>(noun);
  const folder = hyphenated(plural as PluralOf<Api>);
  return defineKind({ type, folder, routes, isImportedByName: true, ...declared });
}

type PluralOf<Api extends ResourceApi> = string extends Api['plural'] ? `${Api['noun']}s` : Api['plural'];

function hyphenated<Words extends string>(words: Words): Hyphenated<Words> {
  return words.replaceAll(' ', '-') as Hyphenated<Words>;
}

type NamedRoutes<Noun extends string> = Readonly<
  Record<`list${Noun}s` | `create${Noun}` | `get${Noun}` | `update${Noun}` | `delete${Noun}`, Route>
>;

/** Selects the operations of a noun from those of its file. */
export function routesOf<Noun extends string>(noun: Noun, routes: NamedRoutes<Noun>): KindRoutes {
  return {
    list: routes[`list${noun}s`],
    create: routes[`create${noun}`],
    get: routes[`get${noun}`],
    update: routes[`update${noun}`],
    delete: routes[`delete${noun}`],
  };
}

export function keysOf(schema: z.ZodType): string[] {
  if (!(schema instanceof z.ZodObject)) throw new Error('the fields of a kind are those of an object');
  return Object.keys(schema.shape);
}

/** Returns the id that projects use for a resource, from a response. */
export function idOf({ key }: Kind, answer: Fields): string | number {
  return (answer[key] ?? answer['id']) as string | number;
}

/** Returns the names of a resource for people, from a response; the best first. */
export function titlesOf(view: Fields): string[] {
  const config = (view['config'] ?? {}) as Fields;
  const fields = [view['name'], view['title'], view['header'], view['key'], view['host']];
  return [...fields, config['name'], config['address']].filter((one) => typeof one === 'string');
}
