import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { DomainProof, Proof } from './domain-proof.ts';
import { foundOf, nextCheckMs } from './domain-state.ts';
import { rememberedMs } from './service-names.ts';
import type { CustomDomainRow } from './tables.ts';

export interface DomainWatchOptions {
  readonly store: Pick<Store, 'customDomains' | 'serviceNames'>;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly logger: Logger;
  readonly proof: DomainProof;
}

const checksPerTurn = 20;

/** Checks the proof of a domain, and stores the outcome. */
export async function checkDomain(options: DomainWatchOptions, row: CustomDomainRow): Promise<void> {
  const { store, clock, logger, proof } = options;
  const now = clock.wallMs();
  const isCalled = await store.serviceNames.isKnown(row.host, now - rememberedMs);
  const found: Proof =
    proof.isOwn(row.host) || (isCalled && !proof.isAllowed(row.host))
      ? {
          method: null,
          problem: 'It is a name of the service: agents or probes call it there.',
          isSure: true,
        }
      : await proof.prove(row);
  const finding = foundOf(row, found, clock.wallMs());
  await store.customDomains.found(row, finding);
  if (finding.failing_since !== null && row.failing_since === null) {
    logger.warn(
      { host: row.host, reason: finding.problem },
      'the custom domain of a page is no longer verified',
    );
  }
}

/** Checks the proofs of custom domains: soon after they are created, and periodically thereafter. */
export class DomainWatch {
  readonly #options: DomainWatchOptions;

  constructor(options: DomainWatchOptions) {
    this.#options = options;
  }

  async turn(): Promise<null> {
    const { store, clock } = this.#options;
    const now = clock.wallMs();
    const due = (await store.customDomains.all()).filter((row) => nextCheckMs(row) <= now);
    const first = due
      .toSorted((one, other) => (one.checked ?? 0) - (other.checked ?? 0))
      .slice(0, checksPerTurn);
    await Promise.all(first.map((row) => checkDomain(this.#options, row)));
    await store.serviceNames.forgetBefore(now - rememberedMs);
    return null;
  }
}
