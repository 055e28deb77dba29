import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { ServiceNames } from './name-store.ts';
import { CustomDomains } from './store.ts';

export const customDomains = defineFeature({
  name: 'custom-domains',
  repositories: { customDomains: CustomDomains, serviceNames: ServiceNames },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof customDomains> {}
}
