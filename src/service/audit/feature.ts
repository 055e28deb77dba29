import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import { auditLogRoutes } from '@picket/protocol/accounts/audit-log.ts';
import { auditedHandlers } from './audited-handlers.ts';
import { auditLogHandlers } from './routes.ts';
import { AuditLog } from './store.ts';

const repositories = { audit: AuditLog };

export const audit: Feature = {
  name: 'audit',
  repositories,
  routes: Object.values(auditLogRoutes),
  handlers: auditLogHandlers,
  aroundHandlers: (handlers, parts) => auditedHandlers(handlers, parts.routes, parts),
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}
