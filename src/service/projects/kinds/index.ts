import { findChannelKind } from '../../../channels/index.ts';
import { keepMasked } from '../../../checks/contract/masking.ts';
import { AlertChannelInput, alertChannelRoutes } from '../../../protocol/alerts/alert-channel.ts';
import { snippetApi } from '../../../protocol/checks/snippet.ts';
import { privateLocationRoutes } from '../../../protocol/locations/private-location.ts';
import { dashboardRoutes } from '../../../protocol/pages/dashboard.ts';
import { maintenanceWindowApi } from '../../../protocol/pages/maintenance-window.ts';
import { statusPageRoutes } from '../../../protocol/pages/status-page.ts';
import type { PhysicalId, ProjectResourceType } from '../../../protocol/projects/project.ts';
import { sloApi } from '../../../protocol/results/slo.ts';
import { checkGroups, checks } from './checks.ts';
import { automationRules, statusPageComponents } from './components.ts';
import { clientCertificates, variables } from './hidden-values.ts';
import { kindWith, lowerCase, named, passingAddress, type ResourceKind, withHost } from './kind.ts';
import { statusPages } from './status-pages.ts';

/** Kinds of resources that have operations of their own; subscriptions and assignments are parts of others. */
export type KindName = Exclude<
  ProjectResourceType,
  'alert-channel-subscription' | 'private-location-check-assignment' | 'private-location-group-assignment'
>;

/** The registry: what names others comes behind them. */
export const kinds: Readonly<Record<KindName, ResourceKind>> = {
  'private-location': named('PrivateLocation', privateLocationRoutes),
  'alert-channel': {
    ...named('AlertChannel', alertChannelRoutes),
    stored: async (repositories, accountId, id) => {
      const channel = await repositories.alertChannels.find(accountId, Number(id));
      if (!channel) return undefined;
      const written = { type: channel.type, ...channel.definition };
      const complete = AlertChannelInput.safeParse(written);
      return complete.success ? complete.data : written;
    },
    keeping: (wished, stored) =>
      wished.type === stored.type
        ? keepMasked(findChannelKind(String(wished.type))?.masked ?? [], wished, stored)
        : wished,
    keepsFirst: true,
  },
  variable: variables,
  snippet: { ...kindWith(snippetApi.routes), isImportedByName: true },
  'client-certificate': clientCertificates,
  'status-page-service': named('Service', statusPageRoutes),
  'status-page': statusPages,
  'status-page-component': statusPageComponents,
  'status-page-automation-rule': automationRules,
  'check-group': checkGroups,
  check: checks,
  'maintenance-window': kindWith(maintenanceWindowApi.routes),
  dashboard: {
    ...named('Dashboard', dashboardRoutes),
    bodyOf: (payload) => withHost(lowerCase(payload, ['customUrl'])),
    exclusive: { customDomain: () => null, customUrl: passingAddress },
  },
  slo: { ...kindWith(sloApi.routes), isImportedByName: true },
};

/** Whether a type has operations of its own. */
export function isKind(type: ProjectResourceType): type is KindName {
  return type in kinds;
}

/** The id of a resource as its answers show it. */
export function physicalIdOf(type: string, text: string): PhysicalId {
  return type in kinds && kinds[type as KindName].isNumbered ? Number(text) : text;
}
