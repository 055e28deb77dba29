import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { defineRoutes, successful } from '../http/route.ts';
import { DashboardInput } from './dashboard.ts';
import { DashboardData, StatusPageData } from './public-page.ts';
import { StatusPageInput } from './status-page.ts';

/** A preview reads as much as the page itself. */
const rateLimit = { requests: 60, windowSeconds: 60 };
const route = {
  credential: 'account',
  method: 'POST',
  isReadOnly: true,
  rateLimit,
  success: successful,
} as const;

/** Previews of pages before they are saved. */
export const previewRoutes = defineRoutes('Status pages', 'account', {
  previewStatusPage: {
    ...route,
    path: '/v1/status-pages/preview',
    otherErrors: [404],
    summary: 'Preview of a status page with unsaved settings; nothing is stored',
    query: lazySchema(() =>
      z.object({
        statusPageId: z
          .uuid()
          .optional()
          .describe('The status page to preview; needed for maintenance windows that include it'),
      }),
    ),
    body: StatusPageInput,
    response: StatusPageData,
  },
  previewDashboard: {
    ...route,
    tag: 'Dashboards',
    path: '/v1/dashboards/preview',
    summary: 'Preview of the first page of a dashboard with unsaved settings; nothing is stored',
    body: DashboardInput,
    response: DashboardData,
  },
});
