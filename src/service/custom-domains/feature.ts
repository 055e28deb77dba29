import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import { configuredDomainProof } from './configured.ts';
import type { DomainProof } from './domain-proof.ts';
import { DomainWatch } from './domain-watch.ts';
import { ServiceNames } from './name-store.ts';
import { CustomDomains } from './store.ts';

const repositories = { customDomains: CustomDomains, serviceNames: ServiceNames };

export const customDomains: Feature = {
  name: 'custom-domains',
  repositories,
  parts: { domainProof: ({ config }) => configuredDomainProof(config) },
  connect: ({ metrics, domainProof }) => {
    metrics.domainProof = domainProof;
  },
  jobs: (parts) => [
    {
      ...{ name: 'custom domains', leaderOnly: true, longestMs: 15_000 },
      work: new DomainWatch({ ...parts, proof: parts.domainProof }),
    },
  ],
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}

declare module '@picket/platform/feature/parts.ts' {
  interface Parts {
    /** Proves the custom domains of pages. */
    readonly domainProof: DomainProof;
  }
}
