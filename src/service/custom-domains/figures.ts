import type { Repositories } from '@picket/platform/store/repositories.ts';
import { customDomainStatuses } from '@picket/protocol/pages/page-fields.ts';
import { Gauge, type Registry } from 'prom-client';
import type { DomainProof } from './domain-proof.ts';
import { stateOf } from './domain-state.ts';

/** Domains of all accounts: the operator, too, should see when a page is about to become unavailable. */
export async function registerDomains(
  registers: Registry[],
  { customDomains }: Pick<Repositories, 'customDomains'>,
  proof: DomainProof,
): Promise<void> {
  const gauge = new Gauge({
    name: 'picket_custom_domains',
    help: 'Custom domains of status pages and dashboards by their state',
    labelNames: ['state'] as const,
    registers,
  });
  for (const state of customDomainStatuses) gauge.set({ state }, 0);
  for (const row of await customDomains.all()) gauge.inc({ state: stateOf(row, proof).status });
}
