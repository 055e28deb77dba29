import { isIP } from 'node:net';
import { type Clock, waitAtMost } from '@picket/lib/clock.ts';
import { toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { DomainProof } from '@picket/service/custom-domains/domain-proof.ts';

/** What answers at a host name. */
export interface PageHost {
  readonly kind: 'status page' | 'dashboard';
  readonly address: string;
  /** Whether the name is proven now; not while a page only goes on answering at it for some time. */
  readonly isProven: boolean;
}

/** How long the list of hosts is believed. */
const freshMs = 5_000;
/** How long a request waits for the list; then the one before counts. */
const patienceMs = 2_000;

export interface CustomDomainHostsOptions {
  readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
  readonly logger: Logger;
  readonly proof: Pick<DomainProof, 'isOwn' | 'serviceHost'>;
  /** The host names at which pages answer, from the database. */
  readonly load: () => Promise<ReadonlyMap<string, PageHost>>;
  /** Those that were kept for when the database does not answer. */
  readonly recall: () => Promise<ReadonlyMap<string, PageHost>>;
}

/**
 * Which page answers at a host name of its own. The names of the service itself, such as `PUBLIC_URL`, are nobody
 * else's, whatever somebody wrote into a page; and where no such name is known, no page takes a host, since
 * it might be just that one.
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
