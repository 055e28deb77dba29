import { LazySchema, lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { Paging } from './query.ts';
import {
  created,
  defineRoute,
  noContent,
  type Route,
  successful,
  type WithSchemas,
  withSchemas,
} from './route.ts';

/** The API of a plain account resource, for `defineResourceApi`. */
interface ResourceDeclaration {
  /** Such as `client certificate`: operation names, path, tag and sentences are derived from it. */
  readonly noun: string;
  /** The noun with an "s" when absent. */
  readonly plural?: string;
  /** The order of its lists, in words: `newest first`. */
  readonly order: string;
  /** Schema of the key in paths. */
  readonly key: z.ZodType;
  /** Name of the key in paths and responses; `id` when absent. */
  readonly keyName?: string;
  /** Whether the account chooses the key, so that it may be in use: creating a resource may respond with 409. */
  readonly isKeyChosen?: true;
  /** Schema in responses. */
  readonly shown: z.ZodObject | LazySchema<z.ZodObject>;
  /** Schema in requests. */
  readonly input: z.ZodType | LazySchema;
  /** Schema of a change; absent for resources that are created and deleted, never changed. */
  readonly patch?: z.ZodType | LazySchema;
  /** Schema of a change in the OpenAPI document, if `patch` is looser because the result of merging is validated. */
  readonly documentedPatch?: z.ZodType | LazySchema;
  /** Object fields that a change may contain in part. */
  readonly mergedFields?: readonly string[];
  /** Query parameters of its list in addition to paging. */
  readonly filter?: z.ZodRawShape;
  /** Further effect of deleting one, for the reference. */
  readonly deleteNote?: string;
}

export type ResourceApi<Declared extends ResourceDeclaration = ResourceDeclaration> =
  WithSchemas<Declared> & {
    readonly plural: string;
    readonly keyName: string;
    readonly routes: ResourceRoutes;
  };

interface ResourceRoutes {
  readonly list: Route;
  readonly create: Route;
  readonly get: Route;
  readonly update?: Route;
  readonly delete: Route;
}

/** Declares a plain account resource: its operations under `/v1/<plural>`. */
export function defineResourceApi<const Declared extends ResourceDeclaration>(
  declared: Declared,
): ResourceApi<Declared> {
  const api: ResourceDeclaration = declared;
  const { noun, plural = `${noun}s`, keyName = 'id', shown } = api;
  const one = /^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`;
  const common = { tag: capitalised(plural), credential: 'account' } as const;
  const path = `/v1/${plural.replaceAll(' ', '-')}`;
  const params = z.object({ [keyName]: api.key });
  const ofOne = { ...common, path: `${path}/{${keyName}}`, params };
  const routes: ResourceRoutes = {
    list: defineRoute({
      ...common,
      method: 'GET',
      path,
      operationId: `list${inOneWord(plural)}`,
      summary: `${capitalised(plural)} of the account, ${api.order}`,
      query: z.object({ ...Paging, ...api.filter }),
      success: successful,
      response: lazySchema(() => z.array(shown instanceof LazySchema ? shown.schema : shown)),
    }),
    create: defineRoute({
      ...common,
      method: 'POST',
      path,
      operationId: `create${inOneWord(noun)}`,
      ...(api.isKeyChosen ? { otherErrors: [409] } : {}),
      summary: `Create ${one}`,
      body: api.input,
      success: created,
      response: shown,
    }),
    get: defineRoute({
      ...ofOne,
      method: 'GET',
      operationId: `get${inOneWord(noun)}`,
      summary: `One ${noun}`,
      success: successful,
      response: shown,
    }),
    ...(api.patch
      ? {
          update: defineRoute({
            ...ofOne,
            method: 'PUT',
            operationId: `update${inOneWord(noun)}`,
            summary: `Change ${one}; absent fields keep their value`,
            body: api.patch,
            ...(api.documentedPatch ? { documentedBody: api.documentedPatch } : {}),
            success: successful,
            response: shown,
          }),
        }
      : {}),
    delete: defineRoute({
      ...ofOne,
      method: 'DELETE',
      operationId: `delete${inOneWord(noun)}`,
      summary: `Delete ${one}${api.deleteNote === undefined ? '' : `; ${api.deleteNote}`}`,
      success: noContent,
    }),
  };
  return withSchemas(declared, { plural, keyName, routes });
}

function capitalised(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function inOneWord(words: string): string {
  return words.split(' ').map(capitalised).join('');
}
