import { isIP } from 'node:net';
import { type Clock, waitAtMost } from '@picket/lib/clock.ts';
import { toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { DomainProof } from '@picket/service/custom-domains/domain-proof.ts';

/** The page at a host name. */
export interface PageHost {
  readonly kind: 'status page' | 'dashboard';
  readonly address: string;
  /** Whether the name is proven now; false while a page remains at it for a grace period. */
  readonly isProven: boolean;
}

/** Lifetime of the list of hosts. */
const freshMs = 5_000;
/** How long a request waits for the list before it uses the previous one. */
const patienceMs = 2_000;

export interface CustomDomainHostsOptions {
  readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
  readonly logger: Logger;
  readonly proof: Pick<DomainProof, 'isOwn' | 'serviceHost'>;
  /** Loads the host names of pages from the database. */
  readonly load: () => Promise<ReadonlyMap<string, PageHost>>;
  /** Returns the stored copy of the list, for an unavailable database. */
  readonly recall: () => Promise<ReadonlyMap<string, PageHost>>;
}

/**
 * Finds the page at a custom domain. The service's own names, such as `PUBLIC_URL`, belong to no page, regardless of
 * settings; if no own name is known, no page gets a host, since it might be that name.
 */
export class CustomDomainHosts {
  readonly #options: CustomDomainHostsOptions;
  #hosts: ReadonlyMap<string, PageHost> | undefined;
  #loadedAtMs = Number.NEGATIVE_INFINITY;
  #loading: Promise<void> | undefined;

  constructor(options: CustomDomainHostsOptions) {
    this.#options = options;
  }

  async find(named: string): Promise<PageHost | undefined> {
    const host = named.toLowerCase().replace(/\.$/, '');
    const { proof } = this.#options;
    if (proof.serviceHost === undefined || proof.isOwn(host)) return undefined;
    if (host === 'localhost' || !host.includes('.') || isIP(host) !== 0) return undefined;
    const { clock } = this.#options;
    if (clock.monotonicMs() - this.#loadedAtMs >= freshMs) {
      this.#loading ??= this.#load().finally(() => {
        this.#loading = undefined;
      });
      await waitAtMost(clock, this.#loading, patienceMs);
    }
    this.#hosts ??= await this.#recall();
    return this.#hosts?.get(host);
  }

  async #recall(): Promise<ReadonlyMap<string, PageHost> | undefined> {
    try {
      return await this.#options.recall();
    } catch (thrown) {
      this.#options.logger.debug({ err: toError(thrown) }, 'failed to read the kept host names of pages');
      return undefined;
    }
  }

  async #load(): Promise<void> {
    const { clock, logger, load } = this.#options;
    try {
      this.#hosts = await load();
    } catch (thrown) {
      logger.debug({ err: toError(thrown) }, 'failed to read host names of pages; using the last known ones');
    }
    this.#loadedAtMs = clock.monotonicMs();
  }
}
