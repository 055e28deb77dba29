import { z } from 'zod';
import { findChannelKind } from '../../channels/index.ts';
import { CommonFields } from '../../checks/contract/definition/common-fields.ts';
import { definitionSchema, maskedValues } from '../../checks/contract/definition/definition.ts';
import type { MaskedValue } from '../../checks/contract/masking.ts';
import { findCheckType } from '../../checks/index.ts';
import { ChannelFlags } from '../../protocol/alerts/alert-channel.ts';
import { CheckGroup, CheckGroupInput, maskedInGroups } from '../../protocol/checks/check-group.ts';
import { ClientCertificateInput } from '../../protocol/checks/client-certificate.ts';
import { SnippetInput } from '../../protocol/checks/snippet.ts';
import { VariableInput } from '../../protocol/checks/variable.ts';
import { PrivateLocationInput } from '../../protocol/locations/private-location.ts';
import { AutomationRuleInput } from '../../protocol/pages/automation-rule.ts';
import { DashboardInput } from '../../protocol/pages/dashboard.ts';
import { MaintenanceWindow, MaintenanceWindowInput } from '../../protocol/pages/maintenance-window.ts';
import { StatusPageInput } from '../../protocol/pages/status-page.ts';
import { StatusPageComponentInput } from '../../protocol/pages/status-page-component.ts';
import { Slo, SloInput } from '../../protocol/results/slo.ts';
import type { Fields, Folder } from './project.ts';
import type { Reference } from './references.ts';

/** One kind of what an account consists of, as files hold it: the fields of the API, but for ids of others. */
export interface Kind {
  readonly folder: Folder;
  readonly noun: string;
  /** What deployments call it. */
  readonly type: string;
  readonly id: 'uuid' | 'number' | 'text';
  /** The schema of the API for fields such as these; undefined where a field that decides on it is wrong. */
  readonly schema: (fields: Fields) => z.ZodType | undefined;
  /** The same with hidden values as "", and the names of all fields. */
  readonly shown: (
    fields: Fields,
  ) => { readonly schema: z.ZodType; readonly keys: readonly string[] } | undefined;
  /** What answers of the API never show. */
  readonly masked: (fields: Fields) => readonly MaskedValue[];
  /** What the API shows and nobody should publish: left out, as values that have to be given. */
  readonly confidential: (fields: Fields) => readonly (readonly string[])[];
  readonly references: readonly Reference[];
  /** What to add to a message about a field that decides on all others. */
  readonly decidedBy?: string;
}

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

const checks: Kind = {
  folder: 'checks',
  noun: 'check',
  type: 'check',
  id: 'uuid',
  decidedBy: 'checkType',
  schema: (fields) => {
    const type = findCheckType(String(fields['checkType']));
    return type && definitionSchema(type).safeExtend({ checkType: z.literal(type.name) });
  },
  shown: (fields) => {
    const type = findCheckType(String(fields['checkType']));
    if (!type) return undefined;
    const schema = definitionSchema(type).safeExtend({ checkType: z.literal(type.name) });
    return {
      schema,
      keys: ['checkType', ...Object.keys({ ...CommonFields.shape, ...type.spec.shape })],
    };
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
};

const groups: Kind = {
  folder: 'groups',
  noun: 'group',
  type: 'check-group',
  id: 'number',
  schema: () => CheckGroupInput,
  shown: () => ({ schema: CheckGroupInput, keys: keysOf(CheckGroup) }),
  masked: () => maskedInGroups,
  confidential: () => [],
  references: [...snippetsOf, alertChannels],
};

const channels: Kind = {
  folder: 'alert-channels',
  noun: 'alert channel',
  type: 'alert-channel',
  id: 'number',
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
    return {
      schema: z.object({ type: z.literal(kind.type), config, ...ChannelFlags.shape }),
      keys: ['type', 'config', ...Object.keys(ChannelFlags.shape)],
    };
  },
  masked: ({ type }) => findChannelKind(String(type))?.masked ?? [],
  // Posting to it takes the address alone.
  confidential: ({ type, config }) =>
    type === 'SLACK' || hasPassword(config, 'url') ? [['config', 'url']] : [],
  references: [],
};

const locations: Kind = {
  folder: 'locations',
  noun: 'private location',
  type: 'private-location',
  id: 'uuid',
  ...plain(PrivateLocationInput, PrivateLocationInput),
  confidential: (fields) => (hasPassword(fields, 'proxyUrl') ? [['proxyUrl']] : []),
  references: [],
};

const services: Kind = {
  folder: 'services',
  noun: 'service',
  type: 'status-page-service',
  id: 'uuid',
  ...plain(z.object({ name: z.string().min(1).max(255) })),
  references: [],
};

const variables: Kind = {
  folder: 'variables',
  noun: 'variable',
  type: 'variable',
  id: 'text',
  ...plain(VariableInput),
  masked: ({ locked, secret }) =>
    locked === true || secret === true ? [{ path: ['value'], isLiteral: true }] : [],
  references: [],
};

const snippets: Kind = {
  folder: 'snippets',
  noun: 'snippet',
  type: 'snippet',
  id: 'number',
  ...plain(SnippetInput),
  references: [],
};

const clientCertificates: Kind = {
  folder: 'client-certificates',
  noun: 'client certificate',
  type: 'client-certificate',
  id: 'uuid',
  ...plain(ClientCertificateInput),
  shown: () => ({
    schema: ClientCertificateInput.partial({ key: true }),
    keys: keysOf(ClientCertificateInput),
  }),
  // Answers have neither.
  confidential: ({ hasPassphrase }) => [['key'], ...(hasPassphrase === true ? [['passphrase']] : [])],
  references: [],
};

const statusPages: Kind = {
  folder: 'status-pages',
  noun: 'status page',
  type: 'status-page',
  id: 'uuid',
  ...plain(StatusPageInput),
  references: [{ file: 'cards.*.services', api: 'cards.*.services', to: 'services', item: 'id' }],
};

const components: Kind = {
  folder: 'status-page-components',
  noun: 'status page component',
  type: 'status-page-component',
  id: 'uuid',
  ...plain(StatusPageComponentInput),
  references: [
    { file: 'statusPage', api: 'statusPageId', to: 'status-pages' },
    { file: 'parent', api: 'parentId', to: 'status-page-components' },
  ],
};

const rules: Kind = {
  folder: 'automation-rules',
  noun: 'automation rule',
  type: 'status-page-automation-rule',
  id: 'uuid',
  ...plain(AutomationRuleInput),
  references: [
    { file: 'statusPage', api: 'statusPageId', to: 'status-pages' },
    { file: 'components.*.component', api: 'components.*.componentId', to: 'status-page-components' },
  ],
};

const windows: Kind = {
  folder: 'maintenance-windows',
  noun: 'maintenance window',
  type: 'maintenance-window',
  id: 'number',
  ...plain(MaintenanceWindowInput, MaintenanceWindow),
  references: [
    {
      file: 'statusPageVisibility.statusPages',
      api: 'statusPageVisibility.statusPageIds',
      to: 'status-pages',
    },
    { file: 'statusPageVisibility.services', api: 'statusPageVisibility.serviceIds', to: 'services' },
    {
      file: 'statusPageVisibility.components',
      api: 'statusPageVisibility.componentIds',
      to: 'status-page-components',
    },
  ],
};

const dashboards: Kind = {
  folder: 'dashboards',
  noun: 'dashboard',
  type: 'dashboard',
  id: 'number',
  ...plain(DashboardInput),
  references: [],
};

const slos: Kind = {
  folder: 'slos',
  noun: 'slo',
  type: 'slo',
  id: 'number',
  ...plain(SloInput, Slo),
  references: [
    { file: 'check', api: 'checkId', to: 'checks' },
    { file: 'group', api: 'groupId', to: 'groups' },
    { file: 'alertChannels', api: 'alertChannelIds', to: 'alert-channels' },
  ],
};

/** Every kind, in an order in which what others name comes first. */
export const kinds: readonly Kind[] = [
  ...[locations, channels, services, variables, snippets, clientCertificates],
  ...[groups, checks, statusPages, components, rules, windows, dashboards, slos],
];

export function kindOf(folder: Folder): Kind {
  const kind = kinds.find((one) => one.folder === folder);
  if (!kind) throw new Error(`no kind has the folder ${folder}`);
  return kind;
}

/** A kind with one schema and nothing that is hidden. `named` has its fields where the schema itself does not say them. */
function plain(
  schema: z.ZodType,
  named: z.ZodType = schema,
): Pick<Kind, 'schema' | 'shown' | 'masked' | 'confidential'> {
  const keys = keysOf(named);
  return { schema: () => schema, shown: () => ({ schema, keys }), masked: () => [], confidential: () => [] };
}

function keysOf(schema: z.ZodType): string[] {
  if (!(schema instanceof z.ZodObject)) throw new Error('the fields of a kind are those of an object');
  const ofService = new Set(['id', 'created_at', 'updated_at', 'project', 'logicalId']);
  return Object.keys(schema.shape).filter((key) => !ofService.has(key));
}

/** Whether an address has a user's password in it. */
function hasPassword(container: unknown, key: string): boolean {
  const value = typeof container === 'object' && container !== null ? (container as Fields)[key] : undefined;
  return typeof value === 'string' && /^[a-z][\w+.-]*:\/\/[^/?#@\s]*:[^/?#@\s]+@/i.test(value);
}
