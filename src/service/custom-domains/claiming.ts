import { AppError } from '@picket/lib/errors.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { customDomainOf } from '@picket/protocol/pages/page-fields.ts';
import type { DomainProof } from './domain-proof.ts';
import { lapseMs } from './domain-state.ts';
import { rememberedMs } from './service-names.ts';
import type { DomainOwner } from './store.ts';

/** Custom domain of a body in its stored form; undefined if the body does not contain it. */
export function domainOfBody(text: string | null | undefined): string | null | undefined {
  return text === undefined ? undefined : text ? (customDomainOf(text) ?? null) : null;
}

/**
 * Assigns a host name, or none, to a page, within the transaction that writes the page.
 *
 * @throws AppError CONFLICT if the name belongs to the service itself, or to another page of any kind and account.
 */
export async function claimDomain(
  repositories: Pick<Repositories, 'customDomains' | 'serviceNames'>,
  proof: DomainProof,
  claim: DomainOwner & { readonly account_id: string; readonly host: string | null; readonly now: number },
): Promise<void> {
  const { host, account_id, status_page_id, dashboard_id, now } = claim;
  const { customDomains, serviceNames } = repositories;
  const owner = { status_page_id, dashboard_id } as DomainOwner;
  await customDomains.release(owner, host);
  if (host === null) return;
  const held = await customDomains.find(host);
  if (held && held.status_page_id === status_page_id && held.dashboard_id === dashboard_id) return;
  const isCalled = !proof.isAllowed(host) && (await serviceNames.isKnown(host, now - rememberedMs));
  if (proof.isOwn(host) || isCalled) {
    throw conflict(
      `customDomain "${host}" is a name of the service itself: agents or other programs call it there`,
    );
  }
  if (held) await customDomains.lapse(host, now - lapseMs);
  const isFree = await customDomains.claim({
    ...{ host, account_id, status_page_id, dashboard_id, created: now },
    ...{ method: null, problem: null, checked: null, failing_since: null },
  });
  if (!isFree) throw conflict(`customDomain "${host}" is used by another page`);
}

function conflict(what: string): AppError {
  return new AppError('CONFLICT', `${what}. Choose another one.`);
}
