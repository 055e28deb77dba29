import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { SubscriberMails } from './store.ts';

export const mail = defineFeature({
  name: 'mail',
  repositories: { subscriberMails: SubscriberMails },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof mail> {}
}
