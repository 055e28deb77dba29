import { variableApi } from '@picket/protocol/checks/variable.ts';
import { privateLocationRoutes } from '@picket/protocol/locations/private-location.ts';
import { z } from 'zod';
import type { ApiClient } from '../api/client.ts';

/** Names of the variables of the account. */
export async function storedVariableNames(api: ApiClient): Promise<string[]> {
  const stored = await api.all({ ...variableApi.routes.list, response: z.array(variableApi.shown) });
  return stored.map(({ key }) => key);
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
