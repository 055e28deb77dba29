import type { ResourceApi } from '@picket/protocol/http/resource.ts';
import { resources } from '@picket/service/resources/index.ts';
import type { z } from 'zod';
import type { Appearance, Shown } from './appearance.ts';
import { appearances } from './appearances.ts';

/** A resource of the account with the data for its pages. */
export interface Table {
  readonly api: ResourceApi;
  /** `/settings/snippets` */
  readonly path: string;
  /** `Snippets` */
  readonly title: string;
  /** `snippet` */
  readonly noun: string;
  readonly appearance: Appearance;
}

/** Every plain resource without separate pages. */
export const tables: readonly Table[] = Object.entries(resources).flatMap(([name, { api }]) => {
  const appearance = appearances[name] ?? {};
  if (appearance.hasOwnPages) return [];
  const { plural, routes } = api;
  const title = `${plural.charAt(0).toUpperCase()}${plural.slice(1)}`;
  return [
    {
      api: api as ResourceApi,
      path: `/settings/${routes.list.path.split('/').at(-1)}`,
      title: appearance.title ?? title,
      noun: appearance.noun ?? api.noun,
      appearance,
    },
  ];
});

/** Returns the input schema, field by field. */
export function inputOf({ api }: Table): z.ZodObject {
  return api.input as z.ZodObject;
}

/** Returns the page of an object. */
export function pathOf({ api, path }: Table, one: Shown): string {
  return `${path}/${encodeURIComponent(String(one[api.keyName]))}/details`;
}

/** Returns the field that identifies an object to users. */
export function nameField({ api }: Table): string {
  const names = Object.keys(api.shown.shape);
  return ['name', 'title', 'host', api.keyName].find((name) => names.includes(name)) ?? api.keyName;
}
