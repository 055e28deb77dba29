import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { NumericId, QueryBoolean } from '../http/query.ts';
import { defineRoutes, successful } from '../http/route.ts';

export const badgeStyles = ['flat', 'plastic', 'flat-square', 'for-the-badge', 'social'] as const;
export const badgeThemes = ['light', 'dark', 'default'] as const;

const badgeRoute = {
  tag: 'Badges',
  credential: 'optional',
  method: 'GET',
  query: z.object({
    style: z.enum(badgeStyles).default('flat'),
    theme: z.enum(badgeThemes).default('default'),
    responseTime: QueryBoolean.default(false).describe('Whether to show the average of the last 24 hours'),
  }),
  success: successful,
  response: z.string(),
  responseContentType: 'image/svg+xml; charset=utf-8',
} as const;

/** Images of a state, for other websites. Without a key they show only data of public dashboards. */
export const badgeRoutes = defineRoutes('Badges', 'optional', {
  getCheckBadge: {
    ...badgeRoute,
    path: '/v1/badges/checks/{id}',
    summary: 'A badge with the state of a check; needs no key if a public dashboard shows the check',
    params: z.object({ id: z.uuid() }),
  },
  getGroupBadge: {
    ...badgeRoute,
    path: '/v1/badges/groups/{id}',
    summary: 'A badge with the state of a group; needs no key if public dashboards show all of its checks',
    params: lazySchema(() => z.object({ id: NumericId })),
  },
  getStatusPageBadge: {
    ...badgeRoute,
    credential: 'none',
    rateLimit: { requests: 60, windowSeconds: 60 },
    query: badgeRoute.query.omit({ responseTime: true }),
    path: '/v1/badges/status-pages/{address}',
    summary: 'A badge with the state of a status page, by its url or customDomain',
    params: z.object({ address: z.string().min(1).max(253) }),
  },
});
