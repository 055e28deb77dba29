import { keepMasked } from '@picket/checks/contract/masking.ts';
import { AlertChannelInput } from '@picket/protocol/alerts/alert-channel.ts';
import type { Kind } from '@picket/protocol/projects/kind.ts';
import { type KindName, kindIn, kinds as listed } from '@picket/protocol/projects/kinds.ts';
import type { PhysicalId, ProjectResourceType } from '@picket/protocol/projects/project.ts';
import { resources } from '../../resources/index.ts';
import { checkGroups, checks } from './checks.ts';
import { automationRules, statusPageComponents } from './components.ts';
import { clientCertificates, variables } from './hidden-values.ts';
import {
  idsIn,
  lowerCase,
  type Particulars,
  passingAddress,
  type ResourceKind,
  type TableName,
  withHost,
} from './kind.ts';
import { statusPages } from './status-pages.ts';

const alertChannels: Particulars = {
  ids: async (repositories, accountId) =>
    (await repositories.alertChannels.all(accountId)).map(({ id }) => ({ physicalId: id, shownId: id })),
  stored: async (repositories, accountId, id) => {
    const channel = await repositories.alertChannels.find(accountId, Number(id));
    if (!channel) return undefined;
    const written = { type: channel.type, ...channel.definition };
    const complete = AlertChannelInput.safeParse(written);
    return complete.success ? complete.data : written;
  },
  keeping: (desired, stored) =>
    desired.type === stored.type
      ? keepMasked(kindIn('alert-channels').masked(desired), desired, stored)
      : desired,
  keepsFirst: true,
};

/** Plain resources need no entry, unless they contain hidden values. */
const particulars: Readonly<Partial<Record<KindName, Particulars>>> = {
  'private-location': { ids: idsIn('locations') },
  'alert-channel': alertChannels,
  variable: variables,
  'client-certificate': clientCertificates,
  'status-page-service': { ids: idsIn('services') },
  'status-page': statusPages,
  'status-page-component': statusPageComponents,
  'status-page-automation-rule': automationRules,
  'check-group': checkGroups,
  check: checks,
  dashboard: {
    ids: idsIn('dashboards'),
    bodyOf: (payload) => withHost(lowerCase(payload, ['customUrl'])),
    exclusive: { customDomain: () => null, customUrl: passingAddress },
  },
};

/** All kinds that deployments know; kinds come after those that they reference. */
export const kinds = Object.fromEntries(
  listed.map((kind): [string, ResourceKind] => [
    kind.type,
    { ids: plainIds(kind), ...kind, ...particulars[kind.type] },
  ]),
) as Readonly<Record<KindName, ResourceKind>>;

function plainIds({ type, routes }: Kind<KindName>): ResourceKind['ids'] {
  const plain = Object.entries(resources).find(([, { api }]) => api.routes === routes);
  if (plain) return idsIn(plain[0] as TableName);
  const own = particulars[type]?.ids;
  if (!own) throw new Error(`nothing says where resources of the kind ${type} are stored`);
  return own;
}

/** Whether a type has operations of its own. */
export function isKind(type: ProjectResourceType): type is KindName {
  return type in kinds;
}

/** Id of a resource as its responses show it. */
export function physicalIdOf(type: string, text: string): PhysicalId {
  return type in kinds && kinds[type as KindName].isNumbered ? Number(text) : text;
}
