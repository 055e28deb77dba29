import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { CursorPaging, cursorPage } from '../http/cursor.ts';
import { ManagedFields } from '../http/managed-fields.ts';
import { QueryBoolean } from '../http/query.ts';
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
import { ThemeColors } from './theme-colors.ts';

const stamps = { created_at: z.iso.datetime(), updated_at: z.iso.datetime().nullable() };

/** A service that status pages show and incidents affect (spec.md, cards of a status page). */
export const Service = lazySchema(() =>
  z
    .object({ id: z.string(), name: z.string(), accountId: z.string(), ...stamps, ...ManagedFields })
    .meta({ id: 'Service' }),
);
export type Service = z.output<typeof Service.schema>;

const options = {
  description: z.string().max(500).nullable().default(null),
  themeColors: ThemeColors.schema.nullable().default(null),
  logo: WebUrl.schema.nullable().default(null),
  redirectTo: WebUrl.schema.nullable().describe('Opened when the logo is clicked').default(null),
  favicon: WebUrl.schema.nullable().default(null),
  defaultTheme: z.enum(['LIGHT', 'DARK', 'AUTO']).default('AUTO'),
  logoDark: WebUrl.schema.nullable().describe('Replaces the logo in dark mode').default(null),
  privacyPolicyLink: WebUrl.schema.nullable().describe('In the footer').default(null),
  termsOfServiceLink: WebUrl.schema.nullable().describe('In the footer').default(null),
  supportLink: WebUrl.schema.nullable().describe('In the footer').default(null),
  footerText: z.string().max(1000).nullable().default(null),
  googleAnalyticsTag: z
    .string()
    .max(64)
    .regex(/^(?:[A-Za-z]{1,4}-[A-Za-z0-9-]+)?$/, 'must be a tag such as G-XXXXXXXXXX')
    .nullable()
    .describe('Loads the Google Analytics script, with which Google counts visitors')
    .default(null),
  allowIndexing: z.boolean().describe('Whether search engines may list the page').default(true),
};

/** The part of a status page that is stored unchanged. */
export const StatusPageOptions = lazySchema(() => z.object(options));
export type StatusPageOptions = z.output<typeof StatusPageOptions.schema>;

const Version = lazySchema(() =>
  z
    .union([z.literal(2), z.literal(3)])
    .describe('2: a page of cards with services; 3: a page of components. Cannot be changed later'),
);

/** Error if components or rules name a page of cards. */
export const pageOfCards = 'names a page of cards: it has to be one made with "version": 3';

/** Error if a component page has cards. */
export const noCards = 'must be left out or empty with version 3: such a page has components';

const fields = {
  ...options,
  version: Version.schema.default(2),
  name: z.string().min(1).max(255),
  url: PageUrl.schema.describe('Subdomain; unique'),
  customDomain: CustomDomain.schema
    .nullable()
    .describe(
      'A domain of your own; unique among the pages of all kinds and accounts. The page is available there once it is verified: see `customDomainState`',
    )
    .default(null),
  isPrivate: z.boolean().describe('Whether visitors need a key, which the service generates').default(false),
  cards: z
    .array(
      z.object({
        id: z
          .uuid()
          .optional()
          .describe('Id of an existing card, in a change of the page; absent for new cards'),
        name: z.string().min(1).max(255),
        statusPageId: z.string().max(64).optional(),
        services: z
          .array(z.object({ id: z.uuid() }))
          .max(100)
          .default([]),
      }),
    )
    .max(100)
    .optional()
    .describe('All cards of the page, in order: required with version 2, not allowed with version 3'),
};
/** The fields of a page, without the rules between them. */
export const StatusPageFields = lazySchema(() => z.object(fields));
export const StatusPageInput = lazySchema(() =>
  StatusPageFields.schema
    .superRefine(({ version, cards }, context) => {
      const issue = (message: string) => context.addIssue({ code: 'custom', path: ['cards'], message });
      if (version === 2 && cards === undefined) issue('is required');
      if (version === 3 && (cards ?? []).length > 0) issue(noCards);
    })
    .meta({ id: 'StatusPageInput' }),
);
export const StatusPagePatch = patchOf(fields).meta({ id: 'StatusPagePatch' });
export type CardInput = NonNullable<z.output<typeof StatusPageInput.schema>['cards']>[number];

export const StatusPage = lazySchema(() =>
  z
    .object({
      id: z.string(),
      ...ManagedFields,
      version: Version.schema,
      name: z.string(),
      url: z.string(),
      customDomain: z.string().nullable(),
      customDomainState: CustomDomainState.schema.nullable(),
      ...StatusPageOptions.shape,
      whiteLabel: z.boolean(),
      isPrivate: z.boolean(),
      keys: z.array(PageKey.schema).describe('For a private page'),
      cards: z.array(
        z.object({ id: z.string(), name: z.string(), services: z.array(Service.schema), ...stamps }),
      ),
      ...stamps,
    })
    .meta({ id: 'StatusPage' }),
);
export type StatusPage = z.output<typeof StatusPage.schema>;
const params = z.object({ statusPageId: z.uuid() });
const serviceParams = z.object({ serviceId: z.uuid() });
const serviceName = { name: z.string().min(1).max(255) };

export const statusPageRoutes = defineRoutes('Status pages', 'account', {
  listStatusPages: {
    method: 'GET',
    path: '/v1/status-pages',
    summary: 'Status pages of the account, newest first',
    query: lazySchema(() => z.object(CursorPaging)),
    response: lazySchema(() => cursorPage(StatusPage.schema)),
  },
  createStatusPage: {
    method: 'POST',
    path: '/v1/status-pages',
    otherErrors: [404, 409],
    summary: 'Create a status page, of cards or of components',
    body: StatusPageInput,
    success: created,
    response: StatusPage,
  },
  getStatusPage: {
    method: 'GET',
    path: '/v1/status-pages/{statusPageId}',
    summary: 'One status page',
    params,
    response: StatusPage,
  },
  updateStatusPage: {
    method: 'PUT',
    path: '/v1/status-pages/{statusPageId}',
    otherErrors: [409],
    summary: 'Change a status page; absent fields keep their value, cards are replaced as a whole',
    params,
    body: StatusPagePatch,
    response: StatusPage,
  },
  checkStatusPageDomain: {
    method: 'POST',
    path: '/v1/status-pages/{statusPageId}/custom-domain/check',
    summary: 'Verify the custom domain of a status page now',
    rateLimit: domainCheckLimit,
    params,
    response: StatusPage,
  },
  deleteStatusPage: {
    method: 'DELETE',
    path: '/v1/status-pages/{statusPageId}',
    summary: 'Delete a status page, its components, rules and subscriptions, but not its services',
    params,
  },
  listServices: {
    method: 'GET',
    path: '/v1/status-pages/services',
    summary: 'Services of the account, newest first',
    query: lazySchema(() =>
      z.object({
        ...CursorPaging,
        paginated: QueryBoolean.default(true).describe('false: return all of them at once'),
      }),
    ),
    response: lazySchema(() => cursorPage(Service.schema)),
  },
  createService: {
    method: 'POST',
    path: '/v1/status-pages/services',
    summary: 'Create a service',
    body: z.object(serviceName),
    success: created,
    response: Service,
  },
  getService: {
    method: 'GET',
    path: '/v1/status-pages/services/{serviceId}',
    summary: 'One service',
    params: serviceParams,
    response: Service,
  },
  updateService: {
    method: 'PUT',
    path: '/v1/status-pages/services/{serviceId}',
    summary: 'Rename a service',
    params: serviceParams,
    body: patchOf(serviceName),
    response: Service,
  },
  deleteService: {
    method: 'DELETE',
    path: '/v1/status-pages/services/{serviceId}',
    summary: 'Delete a service; cards and incidents no longer refer to it',
    params: serviceParams,
  },
});
