import { isIP } from 'node:net';
import { type Clock, waitAtMost } from '../../../../lib/clock.ts';
import { toError } from '../../../../lib/errors.ts';
import type { Logger } from '../../../../lib/log.ts';

/** What answers at a host name. */
export interface OwnHost {
  readonly kind: 'status page' | 'dashboard';
  readonly address: string;
}

/** How long the list of hosts is believed. */
const freshMs = 5_000;
/** How long a request waits for the list; then the one before counts. */
const patienceMs = 2_000;

export interface OwnHostsOptions {
  readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
  readonly logger: Logger;
  readonly publicUrl?: string | undefined;
  /** Another host name of the service, for files of runs. */
  readonly artifactsUrl?: string | undefined;
  /** All host names of pages, from the database. */
  readonly load: () => Promise<ReadonlyMap<string, OwnHost>>;
  /** Those that were kept for when the database does not answer. */
  readonly recall: () => Promise<ReadonlyMap<string, OwnHost>>;
}

/**
 * Which page answers at a host name of its own. The names of the service itself, such as `PUBLIC_URL`, are nobody
 * else's, whatever somebody wrote into a page; and where no such name is known, no page takes a host, since
 * it might be just that one.
 */
export class OwnHosts {
  readonly #options: OwnHostsOptions;
  readonly #serviceHost: string | undefined;
  readonly #artifactsHost: string | undefined;
  #hosts: ReadonlyMap<string, OwnHost> | undefined;
  #loadedAtMs = Number.NEGATIVE_INFINITY;
  #loading: Promise<void> | undefined;

  constructor(options: OwnHostsOptions) {
    this.#options = options;
    const [publicUrl, artifactsUrl] = [options.publicUrl, options.artifactsUrl];
    this.#serviceHost = publicUrl && URL.parse(publicUrl)?.hostname;
    this.#artifactsHost = artifactsUrl && URL.parse(artifactsUrl)?.hostname;
  }

  async find(named: string): Promise<OwnHost | undefined> {
    const host = named.toLowerCase().replace(/\.$/, '');
    if (this.#serviceHost === undefined || host === this.#serviceHost) return undefined;
    if (host === this.#artifactsHost) return undefined;
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

  async #recall(): Promise<ReadonlyMap<string, OwnHost> | undefined> {
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
      logger.debug({ err: toError(thrown) }, 'failed to read host names of pages; those known before count');
    }
    this.#loadedAtMs = clock.monotonicMs();
  }
}
