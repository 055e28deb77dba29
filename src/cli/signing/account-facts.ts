import { variableApi } from '@picket/protocol/checks/variable.ts';
import { privateLocationRoutes } from '@picket/protocol/locations/private-location.ts';
import { z } from 'zod';
import type { ApiClient } from '../api/client.ts';

/** A variable whose value is not signed. */
export interface OpenVariable {
  readonly key: string;
  /** Name of the secret of the location that is the value: this is signed. */
  readonly valueFrom: string | null;
}

/** Variables of the account: their names, and which of them get a secret of the location. */
export async function storedVariables(api: ApiClient): Promise<OpenVariable[]> {
  const stored = await api.all({ ...variableApi.routes.list, response: z.array(variableApi.shown) });
  return stored.map(({ key, valueFrom }) => ({ key, valueFrom }));
}

/** Proxies of locations that are not files of the project. */
export class AccountProxies {
  readonly #api: ApiClient;
  #bySlug: ReadonlyMap<string, string> | undefined;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  async of(slugs: readonly string[]): Promise<string[]> {
    if (slugs.length === 0) return [];
    this.#bySlug ??= new Map(
      (await this.#api.call(privateLocationRoutes.listPrivateLocations)).flatMap(({ slugName, proxyUrl }) =>
        proxyUrl ? [[slugName, proxyUrl] as const] : [],
      ),
    );
    return slugs.flatMap((slug) => this.#bySlug?.get(slug) ?? []);
  }
}
