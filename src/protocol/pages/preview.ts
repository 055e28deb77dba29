import { z } from 'zod';
import { defineRoute, successful } from '../http/route.ts';
import { DashboardInput } from './dashboard.ts';
import { DashboardData, StatusPageData } from './public-page.ts';
import { StatusPageInput } from './status-page.ts';

/** It reads as much as the page itself would. */
const rateLimit = { requests: 60, windowSeconds: 60 };
const route = {
  credential: 'account',
  method: 'POST',
  isReadOnly: true,
  rateLimit,
  success: successful,
} as const;

/** What pages would show if they were saved so. */
export const previewRoutes = {
  previewStatusPage: defineRoute({
    ...route,
    tag: 'Status pages',
    path: '/v1/status-pages/preview',
    operationId: 'previewStatusPage',
    otherErrors: [404],
    summary: 'Preview of a status page with unsaved settings; nothing is stored',
    query: z.object({
      statusPageId: z
        .uuid()
        .optional()
        .describe('The page that would be changed, for maintenance that names it'),
    }),
    body: StatusPageInput,
    response: StatusPageData,
  }),
  previewDashboard: defineRoute({
    ...route,
    tag: 'Dashboards',
    path: '/v1/dashboards/preview',
    operationId: 'previewDashboard',
    summary: 'Preview of the first page of a dashboard with unsaved settings; nothing is stored',
    body: DashboardInput,
    response: DashboardData,
  }),
};
