import type { Clock } from '@picket/lib/clock.ts';
import { toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { ArtifactStore } from '@picket/platform/artifact-store/artifact-store.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { CoverageSource } from '../coverage/coverage-query.ts';
import type { DomainProof } from '../custom-domains/domain-proof.ts';
import { isProven, isServing } from '../custom-domains/domain-state.ts';
import { rememberedMs } from '../custom-domains/service-names.ts';
import { type CopiedPage, PublicCopies } from './public-copies.ts';
import { statusPageData } from './status-page-data.ts';
import type { StatusPageRow } from './tables.ts';

export interface PageSnapshotJobOptions {
  readonly store: Store;
  readonly artifactStore: ArtifactStore;
  readonly analytics: CoverageSource;
  readonly proof: Pick<DomainProof, 'isAllowed'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Daily figures change at midnight and as more is measured: a copy is never older than this. */
const longestMs = 15 * 60_000;
/** A page takes as long as a reader's request; agents and readers have priority. */
const pagesPerTurn = 10;

interface Kept {
  readonly fingerprint: string;
  readonly atMs: number;
}

/**
 * Updates the copies of status pages: after each change of a page, its incidents or its maintenance, and every quarter
 * of an hour. The leader checks every ten seconds, using a few sums over the pages' data, so that unchanged pages cost
 * nothing. Copies of deleted pages are deleted.
 */
export class PageSnapshotJob {
  readonly #options: PageSnapshotJobOptions;
  readonly #copies: PublicCopies;
  /** By page. Copies stored by another leader are stored again. */
  readonly #kept = new Map<string, Kept>();
  #list: readonly CopiedPage[] | undefined;

  constructor(options: PageSnapshotJobOptions) {
    this.#options = options;
    this.#copies = new PublicCopies(options.artifactStore);
  }

  async turn(): Promise<number | null> {
    const { store, clock, logger } = this.#options;
    const pages = await store.statusPages.all();
    const sums = await store.statusPages.changeSums();
    const fingerprintOf = (page: StatusPageRow) =>
      `${page.url} ${page.custom_domain} ${page.updated} ${sums.get(page.account_id)}`;
    const nowMs = clock.monotonicMs();
    const due = pages.filter((page) => {
      const kept = this.#kept.get(page.id);
      return !kept || kept.fingerprint !== fingerprintOf(page) || nowMs - kept.atMs > longestMs;
    });
    try {
      for (const page of due.slice(0, pagesPerTurn)) {
        await this.#keep(page);
        this.#kept.set(page.id, { fingerprint: fingerprintOf(page), atMs: nowMs });
      }
      await this.#keepList(pages);
    } catch (thrown) {
      logger.warn({ err: toError(thrown) }, 'failed to store copies of status pages; retrying');
      return null;
    }
    return due.length > pagesPerTurn ? clock.wallMs() : null;
  }

  async #keep(page: StatusPageRow): Promise<void> {
    const { store, analytics, clock } = this.#options;
    const data = await statusPageData(store, analytics, page, clock.wallMs());
    const keys = page.is_private === 1 ? await store.statusPages.keys([page.id]) : undefined;
    await this.#copies.keep(
      page.url,
      data,
      keys?.map(({ key_hash }) => key_hash),
    );
  }

  /** Domains at which pages are available: a copy is served at no other domain. */
  async #servingHosts(): Promise<ReadonlySet<string>> {
    const { store, proof, clock } = this.#options;
    const now = clock.wallMs();
    const names = await store.serviceNames.since(now - rememberedMs);
    const called = new Set(names.map(({ name }) => name));
    const rows = await store.customDomains.all();
    return new Set(
      rows.flatMap((row) =>
        proof.isAllowed(row.host) || isProven(row) || (isServing(row, now) && !called.has(row.host))
          ? row.host
          : [],
      ),
    );
  }

  async #keepList(pages: readonly StatusPageRow[]): Promise<void> {
    this.#list ??= await this.#copies.list();
    const hosts = await this.#servingHosts();
    const list = pages.map(({ url: address, custom_domain: host }) => ({
      address,
      host: host !== null && hosts.has(host) ? host : null,
    }));
    if (JSON.stringify(list) === JSON.stringify(this.#list)) return;
    const addresses = new Set(list.map(({ address }) => address));
    for (const { address } of this.#list) if (!addresses.has(address)) await this.#copies.forget(address);
    await this.#copies.keepList(list);
    this.#list = list;
    const ids = new Set(pages.map(({ id }) => id));
    for (const id of this.#kept.keys()) if (!ids.has(id)) this.#kept.delete(id);
  }
}
