import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { ManagedFields } from '../http/managed-fields.ts';
import { Paging } from '../http/query.ts';
import { created, defineRoutes } from '../http/route.ts';
import {
  CustomDomain,
  CustomDomainState,
  domainCheckLimit,
  PageKey,
  PageUrl,
  patchOf,
  WebUrl,
} from './page-fields.ts';

/** Appearance of a dashboard and selection of its checks (spec.md "Dashboard"). */
const options = {
  logo: WebUrl.schema.nullable().describe('URL of an image').default(null),
  favicon: WebUrl.schema.nullable().describe('URL of an image').default(null),
  link: WebUrl.schema.nullable().describe('Opened when the logo is clicked').default(null),
  description: z.string().max(10_000).nullable().describe('Shown below the header').default(null),
  width: z.enum(['FULL', '960PX']).default('FULL'),
  refreshRate: z.literal([60, 300, 600]).describe('Seconds').default(60),
  paginate: z.boolean().default(true),
  paginationRate: z.literal([30, 60, 300]).describe('Seconds').default(60),
  checksPerPage: z.int().min(1).max(20).nullable().describe('null means 15').default(15),
  useTagsAndOperator: z
    .boolean()
    .nullable()
    .describe('true: only checks with all of the tags; false: checks with any of them')
    .default(false),
  hideTags: z.boolean().default(false),
  enableIncidents: z.boolean().default(false),
  expandChecks: z.boolean().default(false),
  tags: z
    .array(z.string().min(1).max(255))
    .max(100)
    .describe('Tags of the checks to show; empty: all checks')
    .default([]),
  showHeader: z.boolean().default(true),
  showCheckRunLinks: z.boolean().default(false),
  showGroupNames: z.boolean().default(true),
  customCSS: z.string().max(100_000).nullable().default(''),
  showP95: z.boolean().default(true),
  showP99: z.boolean().default(true),
};

/** The part of a dashboard that is stored unchanged. */
export const DashboardOptions = lazySchema(() =>
  z.object({
    ...options,
    header: z.string().max(1000).nullable().describe('Text at the top').default(null),
  }),
);
export type DashboardOptions = z.output<typeof DashboardOptions.schema>;

const address = {
  customUrl: PageUrl.schema.describe('Subdomain; unique. Absent: the dashboardId is used'),
  customDomain: CustomDomain.schema
    .nullable()
    .describe(
      'A domain of your own; unique among the pages of all kinds and accounts. The page is available there once it is verified: see `customDomainState`',
    )
    .default(null),
  isPrivate: z.boolean().describe('Whether visitors need a key, which the service generates').default(false),
};

export const DashboardInput = lazySchema(() =>
  z
    .object({
      ...options,
      ...address,
      customUrl: address.customUrl.optional(),
      header: z.string().min(1).max(1000).describe('Text at the top'),
    })
    .meta({ id: 'DashboardInput' }),
);

export const DashboardPatch = patchOf({
  ...options,
  ...address,
  header: z.string().max(1000).describe('Text at the top'),
}).meta({ id: 'DashboardPatch' });

export const Dashboard = lazySchema(() =>
  z
    .object({
      id: z.int(),
      dashboardId: z.string(),
      ...ManagedFields,
      created_at: z.iso.datetime(),
      updated_at: z.iso.datetime().nullable(),
      ...DashboardOptions.shape,
      customUrl: z.string(),
      customDomain: z.string().nullable(),
      customDomainState: CustomDomainState.schema.nullable(),
      isPrivate: z.boolean(),
      keys: z.array(PageKey.schema),
    })
    .meta({ id: 'Dashboard' }),
);
export type Dashboard = z.output<typeof Dashboard.schema>;
/** Reading dashboards may be expensive, so it has a limit of its own (check model 4.3). */
const rateLimit = { requests: 10, windowSeconds: 20 };
const params = z.object({
  dashboardId: z.string().regex(/^[0-9a-f-]{1,36}$/, 'must be the dashboardId of a dashboard'),
});

export const dashboardRoutes = defineRoutes('Dashboards', 'account', {
  listDashboards: {
    method: 'GET',
    path: '/v1/dashboards',
    summary: 'Dashboards of the account, newest first',
    query: z.object(Paging),
    response: lazySchema(() => z.array(Dashboard.schema)),
  },
  createDashboard: {
    method: 'POST',
    path: '/v1/dashboards',
    otherErrors: [409],
    summary: 'Create a dashboard; a private one gets a key',
    body: DashboardInput,
    success: created,
    response: Dashboard,
  },
  getDashboard: {
    rateLimit,
    method: 'GET',
    path: '/v1/dashboards/{dashboardId}',
    summary: 'One dashboard',
    params,
    response: Dashboard,
  },
  updateDashboard: {
    method: 'PUT',
    path: '/v1/dashboards/{dashboardId}',
    otherErrors: [409],
    summary:
      'Change a dashboard; absent fields keep their value. One that becomes private gets a key, one that becomes public loses its keys',
    params,
    body: DashboardPatch,
    response: Dashboard,
  },
  checkDashboardDomain: {
    method: 'POST',
    path: '/v1/dashboards/{dashboardId}/custom-domain/check',
    summary: 'Verify the custom domain of a dashboard now',
    rateLimit: domainCheckLimit,
    params,
    response: Dashboard,
  },
  deleteDashboard: {
    method: 'DELETE',
    path: '/v1/dashboards/{dashboardId}',
    summary: 'Delete a dashboard, its keys and its incidents',
    params,
  },
});
