import { AppError, toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import { hashKey } from '@picket/platform/ids/keys.ts';
import { publicPageRoutes, type StatusPageData } from '@picket/protocol/pages/public-page.ts';
import type { PublicCopies } from '@picket/service/pages/public-copies.ts';
import { path } from '../html.ts';
import type { GivenKey } from './keys.ts';
import { callPublic, type Exchange, isBetterOld, knownAddress, type PublicPagesDeps } from './public-call.ts';
import { type CachedResponse, ResponseCache } from './response-cache.ts';
import { type StatusPageFiles, sizeOf, statusPageFiles } from './status-page.ts';

export type StatusPlace = GivenKey & { readonly host?: string | undefined };

/**
 * Status pages as files, each shared by all readers for ten seconds: from the API's responses, and when the database is
 * unavailable, from the last known page in memory or in the artifact store.
 */
export class StatusPageSource {
  readonly #deps: PublicPagesDeps & { readonly copies: PublicCopies; readonly logger: Logger };
  readonly #answers: ResponseCache<StatusPageFiles>;

  constructor(deps: PublicPagesDeps & { readonly copies: PublicCopies; readonly logger: Logger }) {
    this.#deps = deps;
    this.#answers = new ResponseCache({ clock: deps.clock, isBetterOld, bytesOf: sizeOf });
  }

  /**
   * Returns a page by its address.
   *
   * @param at includes the custom domain if it is served there. A page opened with a key is cached for that key.
   * @throws AppError NOT_FOUND, BAD_TOKEN, RATE_LIMITED, or STORE_UNAVAILABLE when there is no copy either.
   */
  open(named: string, exchange: Exchange, at: StatusPlace): Promise<CachedResponse<StatusPageFiles>> {
    const { host, key, isKeyInAddress } = at;
    const { handlers, limits } = this.#deps;
    const route = publicPageRoutes.getStatusPageData;
    const address = knownAddress(named, 'status page');
    return this.#answers.get(
      `${address} ${host ?? ''} ${key === undefined ? '' : `${isKeyInAddress} ${hashKey(key)}`}`,
      async () => {
        limits?.spend(route, exchange.request, exchange.reply);
        const data = await callPublic(handlers, route.operationId, {
          ...exchange,
          params: { address },
          query: { key },
        });
        return this.#files(data as StatusPageData, at);
      },
      async () => {
        const data = await this.#recalled(address, key);
        return data && this.#files(data, at);
      },
    );
  }

  async #recalled(address: string, key: string | undefined): Promise<StatusPageData | undefined> {
    try {
      return await this.#deps.copies.recall(address, key);
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code === 'BAD_TOKEN') throw thrown;
      this.#deps.logger.warn({ err: toError(thrown) }, 'failed to read the copy of a status page');
      return undefined;
    }
  }

  #files(data: StatusPageData, { host, key, isKeyInAddress }: StatusPlace): Promise<StatusPageFiles> {
    const { publicUrl } = this.#deps;
    const origin = publicUrl?.replace(/\/+$/, '') ?? '';
    const own = host === undefined ? path`/status/${data.page.url}` : '';
    const scheme = origin.startsWith('http:') ? 'http' : 'https';
    const absolute = host === undefined ? `${origin}${own}` : `${scheme}://${host}`;
    return statusPageFiles(data, {
      ...{ ...this.#deps, own, absolute },
      key: isKeyInAddress ? key : undefined,
    });
  }
}
