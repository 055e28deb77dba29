import { findChannelKind } from '@picket/channels/index.ts';
import { CommonFields } from '@picket/checks/contract/definition/common-fields.ts';
import { definitionSchema, maskedValues } from '@picket/checks/contract/definition/definition.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { z } from 'zod';
import { alertChannelRoutes, ChannelFlags } from '../alerts/alert-channel.ts';
import { checkRoutes, typedCheckRoutes } from '../checks/check.ts';
import { checkGroupRoutes, maskedInGroups } from '../checks/check-group.ts';
import { ClientCertificateInput, clientCertificateApi } from '../checks/client-certificate.ts';
import { snippetApi } from '../checks/snippet.ts';
import { variableApi } from '../checks/variable.ts';
import { privateLocationRoutes } from '../locations/private-location.ts';
import { automationRuleRoutes } from '../pages/automation-rule.ts';
import { dashboardRoutes } from '../pages/dashboard.ts';
import { maintenanceWindowApi } from '../pages/maintenance-window.ts';
import { statusPageRoutes } from '../pages/status-page.ts';
import { statusPageComponentRoutes } from '../pages/status-page-component.ts';
import { sloApi } from '../results/slo.ts';
import {
  defineKind,
  type Fields,
  type Kind,
  keysOf,
  type Reference,
  resourceKind,
  routesOf,
} from './kind.ts';

const alertChannels: Reference = {
  file: 'alertChannels',
  api: 'alertChannelSubscriptions',
  to: 'alert-channels',
  item: 'alertChannelId',
};

const snippetsOf: readonly Reference[] = [
  { file: 'setupSnippet', api: 'setupSnippetId', to: 'snippets' },
  { file: 'tearDownSnippet', api: 'tearDownSnippetId', to: 'snippets' },
];

const statusPageOf: Reference = { file: 'statusPage', api: 'statusPageId', to: 'status-pages' };

const privateLocation = defineKind({
  type: 'private-location',
  folder: 'locations',
  routes: routesOf('PrivateLocation', privateLocationRoutes),
  confidential: (fields) => (hasPassword(fields, 'proxyUrl') ? [['proxyUrl']] : []),
});

const alertChannel = defineKind({
  type: 'alert-channel',
  folder: 'alert-channels',
  routes: routesOf('AlertChannel', alertChannelRoutes),
  decidedBy: 'type',
  schema: ({ type }) => {
    const kind = findChannelKind(String(type));
    return kind && z.object({ type: z.literal(kind.type), config: kind.config, ...ChannelFlags.shape });
  },
  shown: ({ type }) => {
    const kind = findChannelKind(String(type));
    if (!kind) return undefined;
    const hidden = kind.masked.flatMap(({ path: [, key], flags }) => (key && !flags ? [key] : []));
    const config = kind.config.extend(Object.fromEntries(hidden.map((key) => [key, z.string().nullish()])));
    const schema = z.object({ type: z.literal(kind.type), config, ...ChannelFlags.shape });
    return { schema, keys: keysOf(schema) };
  },
  masked: ({ type }) => findChannelKind(String(type))?.masked ?? [],
  // The URL alone suffices to post to the channel.
  confidential: ({ type, config }) =>
    type === 'SLACK' || hasPassword(config, 'url') ? [['config', 'url']] : [],
});

const variable = resourceKind(variableApi, {
  masked: ({ locked, secret, valueFrom }) =>
    (locked === true || secret === true) && !valueFrom ? [{ path: ['value'], isLiteral: true }] : [],
  deletedFirst: 6,
});

const clientCertificate = resourceKind(clientCertificateApi, {
  shown: () => ({
    schema: ClientCertificateInput.schema.partial({ key: true }),
    keys: keysOf(ClientCertificateInput.schema),
  }),
  // Responses contain neither.
  confidential: ({ hasPassphrase }) => [['key'], ...(hasPassphrase === true ? [['passphrase']] : [])],
});

const service = defineKind({
  type: 'status-page-service',
  folder: 'services',
  routes: routesOf('Service', statusPageRoutes),
});

const statusPage = defineKind({
  type: 'status-page',
  folder: 'status-pages',
  routes: routesOf('StatusPage', statusPageRoutes),
  references: [{ file: 'cards.*.services', api: 'cards.*.services', to: 'services', item: 'id' }],
  deletedFirst: 3,
});

const statusPageComponent = defineKind({
  type: 'status-page-component',
  folder: 'status-page-components',
  routes: routesOf('StatusPageComponent', statusPageComponentRoutes),
  references: [statusPageOf, { file: 'parent', api: 'parentId', to: 'status-page-components' }],
});

const automationRule = defineKind({
  type: 'status-page-automation-rule',
  folder: 'automation-rules',
  routes: routesOf('AutomationRule', automationRuleRoutes),
  references: [
    statusPageOf,
    { file: 'components.*.component', api: 'components.*.componentId', to: 'status-page-components' },
  ],
});

const checkGroup = defineKind({
  type: 'check-group',
  folder: 'groups',
  routes: routesOf('CheckGroup', checkGroupRoutes),
  masked: () => maskedInGroups,
  references: [...snippetsOf, alertChannels],
});

const check = defineKind({
  type: 'check',
  folder: 'checks',
  routes: routesOf('Check', checkRoutes),
  shownBy: [
    ...[checkGroupRoutes.listChecksOfGroup, checkGroupRoutes.getCheckOfGroup],
    ...[...typedCheckRoutes.values()].map(({ update }) => update),
  ],
  decidedBy: 'checkType',
  schema: checkSchema,
  shown: (fields) => {
    const [schema, type] = [checkSchema(fields), findCheckType(String(fields['checkType']))];
    if (!schema || !type) return undefined;
    return { schema, keys: ['checkType', ...Object.keys({ ...CommonFields.shape, ...type.spec.shape })] };
  },
  masked: (fields) => maskedValues(findCheckType(String(fields['checkType']))),
  confidential: ({ request }) => (hasPassword(request, 'url') ? [['request', 'url']] : []),
  references: [
    { file: 'group', api: 'groupId', to: 'groups' },
    { file: 'parentChecks', api: 'parentCheckIds', to: 'checks' },
    { file: 'triggerIncident.service', api: 'triggerIncident.serviceId', to: 'services' },
    ...snippetsOf,
    alertChannels,
  ],
  deletedFirst: 2,
});

const visibility = 'statusPageVisibility';
const maintenanceWindow = resourceKind(maintenanceWindowApi, {
  isImportedByName: false,
  references: [
    { file: `${visibility}.statusPages`, api: `${visibility}.statusPageIds`, to: 'status-pages' },
    { file: `${visibility}.services`, api: `${visibility}.serviceIds`, to: 'services' },
    {
      file: `${visibility}.components`,
      api: `${visibility}.componentIds`,
      to: 'status-page-components',
    },
  ],
  deletedFirst: 5,
});

const dashboard = defineKind({
  type: 'dashboard',
  folder: 'dashboards',
  routes: routesOf('Dashboard', dashboardRoutes),
  deletedFirst: 4,
});

const slo = resourceKind(sloApi, {
  references: [
    { file: 'check', api: 'checkId', to: 'checks' },
    { file: 'group', api: 'groupId', to: 'groups' },
    { file: 'alertChannels', api: 'alertChannelIds', to: 'alert-channels' },
  ],
  deletedFirst: 1,
});

/**
 * Every kind of resources that can be kept as code; referenced kinds come first. Deployments, plans, exports, imports
 * and the project fields of responses are derived from this list.
 */
const all = [
  privateLocation,
  alertChannel,
  variable,
  resourceKind(snippetApi),
  clientCertificate,
  service,
  statusPage,
  statusPageComponent,
  automationRule,
  checkGroup,
  check,
  maintenanceWindow,
  dashboard,
  slo,
] as const satisfies readonly Kind[];

/** Names of the kinds in deployments. */
export type KindName = (typeof all)[number]['type'];
/** The folders of a project: each contains one kind. */
export type Folder = (typeof all)[number]['folder'];

export const kinds: readonly Kind<KindName, Folder>[] = all;

export const folders: readonly Folder[] = kinds.map(({ folder }) => folder);

const byFolder: ReadonlyMap<string, Kind<KindName, Folder>> = new Map(
  kinds.map((kind) => [kind.folder, kind]),
);

/** Returns the kind of the resources in a folder. */
export function kindIn(folder: string): Kind<KindName, Folder> {
  const kind = byFolder.get(folder);
  if (!kind) throw new Error(`no kind has the folder ${folder}`);
  return kind;
}

function checkSchema({ checkType }: Fields): z.ZodType | undefined {
  const type = findCheckType(String(checkType));
  return type && definitionSchema(type).safeExtend({ checkType: z.literal(type.name) });
}

/** Whether a URL contains a password. */
function hasPassword(container: unknown, key: string): boolean {
  const value = typeof container === 'object' && container !== null ? (container as Fields)[key] : undefined;
  return typeof value === 'string' && /^[a-z][\w+.-]*:\/\/[^/?#@\s]*:[^/?#@\s]+@/i.test(value);
}
