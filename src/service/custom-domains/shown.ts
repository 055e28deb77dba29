import { AppError } from '@picket/lib/errors.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { CustomDomainState } from '@picket/protocol/pages/page-fields.ts';
import type { DomainProof } from './domain-proof.ts';
import { stateOf } from './domain-state.ts';
import { checkDomain, type DomainWatchOptions } from './domain-watch.ts';

type PageRow = { readonly custom_domain: string | null };

/** States of the domains of the given pages, by domain. */
export async function domainStates(
  { customDomains }: Pick<Repositories, 'customDomains'>,
  proof: DomainProof,
  pages: readonly PageRow[],
): Promise<ReadonlyMap<string, CustomDomainState>> {
  const rows = await customDomains.ofHosts(pages.flatMap((page) => page.custom_domain ?? []));
  return new Map(rows.map((row) => [row.host, stateOf(row, proof)]));
}

/** @throws AppError CONFLICT for a page without a domain. */
export async function checkDomainOf(options: DomainWatchOptions, page: PageRow): Promise<void> {
  const row =
    page.custom_domain === null ? undefined : await options.store.customDomains.find(page.custom_domain);
  if (!row) throw new AppError('CONFLICT', 'The page has no customDomain to check.');
  await checkDomain(options, row);
}
