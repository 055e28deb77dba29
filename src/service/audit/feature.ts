import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { AuditLog } from './store.ts';

export const audit = defineFeature({
  name: 'audit',
  repositories: { audit: AuditLog },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof audit> {}
}
