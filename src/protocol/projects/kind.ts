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
  /** Absent for what is made and deleted, never changed. */
  readonly update?: Route;
  readonly delete: Route;
}

/**
 * Where one definition names others. The API has their ids there; files have the names of the files, so that
 * they mean the same in every account.
 */
export interface Reference {
  /** The field in a file. Dots lead into objects, `*` stands for each item of a list. */
  readonly file: string;
  /** The field of the API: the same but for its last name. */
  readonly api: string;
  /** The folder of the kind that it names. */
  readonly to: string;
  /** For lists whose items are objects of the API: the key of the id. Files have the name alone. */
  readonly item?: string;
}

interface Written {
  /** The schema of the API for fields such as these; undefined where the field that decides on it is wrong. */
  readonly schema: (fields: Fields) => z.ZodType | undefined;
  /** The same with hidden values as "", and the names of all fields. */
  readonly shown: (
    fields: Fields,
  ) => { readonly schema: z.ZodType; readonly keys: readonly string[] } | undefined;
  /** The field that decides on all others, where there is one. */
  readonly decidedBy?: string;
  /** What answers of the API never show. */
  readonly masked: (fields: Fields) => readonly MaskedValue[];
  /** What the API shows and files should not have: exports leave it out, as values that have to be given. */
  readonly confidential: (fields: Fields) => readonly (readonly string[])[];
  readonly references: readonly Reference[];
  /** Operations that answer with such resources, besides `list`, `get` and `update`. */
  readonly shownBy?: readonly Route[];
  /** Imports offer it only where a filter names its type: other programs that import everything do not know it. */
  readonly isImportedByName?: boolean;
  /**
   * What left the code goes before anything is written, lowest first: what replaces it may have the same address, or
   * the same key. Absent: it goes at the end, when nothing names it.
   */
  readonly deletedFirst?: number;
}

/** One kind of resources that can be kept as code: everything that the command line and the service must know of it. */
export interface Kind<Type extends string = string, Folder extends string = string> extends Written {
  /** What deployments call it. */
  readonly type: Type;
  /** The folder of its files in a project. */
  readonly folder: Folder;
  readonly routes: KindRoutes;
  /** The parameter of its paths. */
  readonly key: string;
  /** Whether the database numbers them. */
  readonly isNumbered: boolean;
}

/** A kind by its operations: what is not said of it follows from the body that creates one. */
export function defineKind<const Type extends string, const Folder extends string>(
  declared: { readonly type: Type; readonly folder: Folder; readonly routes: KindRoutes } & Partial<Written>,
): Kind<Type, Folder> {
  const { routes } = declared;
  const schema = routes.create.body ?? z.object({});
  const [, key = ''] = /\{(\w+)\}/.exec(routes.get.path) ?? [];
  return {
    key,
    isNumbered: typeof routes.get.params?.shape[key]?.safeParse('1').data === 'number',
    schema: () => schema,
    shown: () => ({ schema, keys: keysOf(schema) }),
    masked: () => [],
    confidential: () => [],
    references: [],
    ...declared,
  };
}

type Hyphenated<Words extends string> = Words extends `${infer First} ${infer Rest}`
  ? `${First}-${Hyphenated<Rest>}`
  : Words;

/** The kind of a plain account resource: its type and its folder are its noun in singular and plural. */
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

/** The operations of a noun among those of its file. */
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

/** The id by which projects know a resource, as answers show it. */
export function idOf({ key }: Kind, answer: Fields): string | number {
  return (answer[key] ?? answer['id']) as string | number;
}

/** What people call a resource, from what its answers show: texts, the best first. */
export function titlesOf(view: Fields): string[] {
  const config = (view['config'] ?? {}) as Fields;
  const fields = [view['name'], view['title'], view['header'], view['key'], view['host']];
  return [...fields, config['name'], config['address']].filter((one) => typeof one === 'string');
}
