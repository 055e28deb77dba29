import { findChannelKind } from '../../channels/index.ts';
import { completeDefinition, maskedValues } from '../../checks/contract/definition.ts';
import { keepMasked } from '../../checks/contract/masking.ts';
import { checkTypeNames, findCheckType } from '../../checks/index.ts';
import { AlertChannelInput, alertChannelRoutes } from '../../protocol/alerts/alert-channel.ts';
import { checkRoutes, typedCheckRoutes } from '../../protocol/checks/check.ts';
import { checkGroupRoutes, maskedInGroups } from '../../protocol/checks/check-group.ts';
import type { Route } from '../../protocol/http/route.ts';
import { privateLocationRoutes } from '../../protocol/locations/private-location.ts';
import { dashboardRoutes } from '../../protocol/pages/dashboard.ts';
import { maintenanceWindowApi } from '../../protocol/pages/maintenance-window.ts';
import { statusPageRoutes } from '../../protocol/pages/status-page.ts';
import type { PhysicalId, ProjectResourceType } from '../../protocol/projects/project.ts';
import { completeGroup } from '../checks/effective-check.ts';
import { fieldError } from '../http/validation.ts';
import type { Repositories } from '../store.ts';

export type Body = Readonly<Record<string, unknown>>;

/** Kinds of resources that have operations of their own; subscriptions and assignments are parts of others. */
export type KindName = Exclude<
  ProjectResourceType,
  'alert-channel-subscription' | 'private-location-check-assignment' | 'private-location-group-assignment'
>;

/** What a deployment must know of a kind of resources to write them by their own operations. */
export interface ResourceKind {
  readonly routes: { readonly create: Route; readonly update: Route; readonly delete: Route };
  /** The operation that shows one. */
  readonly get: Route;
  /** The parameter of its paths. */
  readonly key: string;
  /** Whether the database numbers them. */
  readonly isNumbered: boolean;
  readonly idOf: (answer: Body) => PhysicalId;
  /** What is stored of one, as it is written, where `get` masks parts of it. */
  readonly stored?: (
    repositories: Repositories,
    accountId: string,
    id: PhysicalId,
  ) => Promise<Body | undefined>;
  /** The operation whose body a payload is; the create route, where types differ by it. */
  readonly bodyRoute?: (payload: Body) => Route;
  /** What `get` shows, in the form in which it is written. */
  readonly asWritten?: (shown: Body) => Body;
  /** A payload as the operation takes it. */
  readonly bodyOf?: (payload: Body) => Body;
  /** A whole wished body, with what only the stored one has: ids of parts, tokens, hidden values. */
  readonly keeping?: (wished: Body, stored: Body) => Body;
  /** What a query of its operation of creation says. */
  readonly createQuery?: Body;
}

const byId = { key: 'id', idOf: ({ id }: Body) => id as PhysicalId } as const;
const withoutAutoAssign = { autoAssignAlerts: 'false' } as const;

const { routes: windowRoutes } = maintenanceWindowApi;
if (!windowRoutes.update) throw new Error('maintenance windows can be changed');

export const kinds: Readonly<Record<KindName, ResourceKind>> = {
  'private-location': {
    ...byId,
    isNumbered: false,
    routes: {
      create: privateLocationRoutes.createPrivateLocation,
      update: privateLocationRoutes.updatePrivateLocation,
      delete: privateLocationRoutes.deletePrivateLocation,
    },
    get: privateLocationRoutes.getPrivateLocation,
  },
  'alert-channel': {
    ...byId,
    isNumbered: true,
    routes: {
      create: alertChannelRoutes.createAlertChannel,
      update: alertChannelRoutes.updateAlertChannel,
      delete: alertChannelRoutes.deleteAlertChannel,
    },
    get: alertChannelRoutes.getAlertChannel,
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
  },
  'status-page-service': {
    key: 'serviceId',
    idOf: ({ id }) => id as PhysicalId,
    isNumbered: false,
    routes: {
      create: statusPageRoutes.createService,
      update: statusPageRoutes.updateService,
      delete: statusPageRoutes.deleteService,
    },
    get: statusPageRoutes.getService,
  },
  'status-page': {
    key: 'statusPageId',
    idOf: ({ id }) => id as PhysicalId,
    isNumbered: false,
    routes: {
      create: statusPageRoutes.createStatusPage,
      update: statusPageRoutes.updateStatusPage,
      delete: statusPageRoutes.deleteStatusPage,
    },
    get: statusPageRoutes.getStatusPage,
    asWritten: (shown) => ({ ...shown, cards: cardsOf(shown).map(writtenCard) }),
    bodyOf: pageBody,
    keeping: keepingCards,
  },
  'check-group': {
    ...byId,
    isNumbered: true,
    routes: {
      create: checkGroupRoutes.createCheckGroup,
      update: checkGroupRoutes.updateCheckGroup,
      delete: checkGroupRoutes.deleteCheckGroup,
    },
    get: checkGroupRoutes.getCheckGroup,
    stored: async (repositories, accountId, id) => {
      const group = await repositories.groups.find(accountId, Number(id));
      return group && completeGroup(group);
    },
    // Version of the form that clients write groups in: both are the same here.
    bodyOf: ({ v: _, ...payload }) => payload,
    keeping: (wished, stored) => keepMasked(maskedInGroups, wished, stored),
    createQuery: withoutAutoAssign,
  },
  check: {
    ...byId,
    isNumbered: false,
    routes: {
      create: checkRoutes.createCheck,
      update: checkRoutes.updateCheck,
      delete: checkRoutes.deleteCheck,
    },
    get: checkRoutes.getCheck,
    stored: async (repositories, accountId, id) => {
      const check = await repositories.checks.find(accountId, String(id));
      if (!check) return undefined;
      const { checkType, definition } = check;
      return { ...completeDefinition(findCheckType(checkType), definition), checkType };
    },
    bodyRoute: routeOfType,
    // What a repair by a model would go by: nothing here repairs checks.
    bodyOf: ({ intent: _intent, aiAutoRepairEnabled: _repair, ...payload }) => payload,
    keeping: keepingOfCheck,
    createQuery: withoutAutoAssign,
  },
  'maintenance-window': {
    ...byId,
    isNumbered: true,
    routes: { create: windowRoutes.create, update: windowRoutes.update, delete: windowRoutes.delete },
    get: windowRoutes.get,
  },
  dashboard: {
    key: 'dashboardId',
    idOf: ({ dashboardId }) => dashboardId as PhysicalId,
    isNumbered: false,
    routes: {
      create: dashboardRoutes.createDashboard,
      update: dashboardRoutes.updateDashboard,
      delete: dashboardRoutes.deleteDashboard,
    },
    get: dashboardRoutes.getDashboard,
    bodyOf: (payload) => lowerCase(payload, ['customUrl', 'customDomain']),
  },
};

/** Whether a type has operations of its own. */
export function isKind(type: ProjectResourceType): type is KindName {
  return type in kinds;
}

/** The id of a resource as its answers show it. */
export function physicalIdOf(type: string, text: string): PhysicalId {
  return type in kinds && kinds[type as KindName].isNumbered ? Number(text) : text;
}

function routeOfType({ checkType }: Body): Route {
  const routes = typeof checkType === 'string' ? typedCheckRoutes.get(checkType) : undefined;
  if (routes?.create) return routes.create;
  const message = `must be one of [${checkTypeNames.join(', ')}]`;
  throw fieldError('payload', [{ key: 'checkType', message }]);
}

function keepingOfCheck(wished: Body, stored: Body): Body {
  const type = findCheckType(String(wished.checkType));
  if (!type || wished.checkType !== stored.checkType) return wished;
  const unmasked = keepMasked(maskedValues(type), wished, stored);
  // Clients upload snapshots when they deploy, and send none when they ask what would change.
  const kept = wished.snapshots === null ? { ...unmasked, snapshots: stored.snapshots } : unmasked;
  if (!type.pings) return kept;
  // The address of its pings stays for as long as the check.
  const token = type.pings.expectation(wished).token ?? type.pings.expectation(stored).token;
  return { ...kept, ...type.pings.addressed(kept, { token, url: null }) };
}

/** Services of cards may be ids alone; addresses and colors are kept as the store has them. */
function pageBody(payload: Body): Body {
  const cards = Array.isArray(payload.cards) ? (payload.cards as unknown[]).map(cardBody) : payload.cards;
  const { themeColors } = payload;
  const upper = (text: string) => text.toUpperCase();
  return {
    ...lowerCase(payload, ['url', 'customDomain']),
    ...(cards === undefined ? {} : { cards }),
    ...(themeColors
      ? { themeColors: JSON.parse(JSON.stringify(themeColors).replaceAll(/"#[0-9A-Fa-f]+"/g, upper)) }
      : {}),
  };
}

function cardBody(card: unknown): unknown {
  if (!isRecord(card) || !Array.isArray(card.services)) return card;
  const services = card.services.map((service: unknown) =>
    typeof service === 'string' ? { id: service } : service,
  );
  return { ...card, services };
}

function writtenCard({ id, name, services }: Body): Body {
  return { id, name, services: (services as Body[]).map((service) => ({ id: service.id })) };
}

/** Cards keep their ids by their names. */
function keepingCards(wished: Body, stored: Body): Body {
  const ids = Map.groupBy(cardsOf(stored), ({ name }) => name);
  const cards = cardsOf(wished).map((card) => {
    const id = ids.get(card.name)?.shift()?.id;
    return id === undefined ? card : { ...card, id };
  });
  return { ...wished, cards };
}

function cardsOf({ cards }: Body): Body[] {
  return Array.isArray(cards) ? (cards as unknown[]).filter(isRecord) : [];
}

function lowerCase(payload: Body, fields: readonly string[]): Body {
  const entries = fields.flatMap((field) => {
    const value = payload[field];
    return typeof value === 'string' ? [[field, value.toLowerCase()]] : [];
  });
  return { ...payload, ...Object.fromEntries(entries) };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
