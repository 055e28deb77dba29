import { randomUUID } from 'node:crypto';
import { AppError } from '@picket/lib/errors.ts';
import {
  type AnyHandler,
  type HandlerDeps,
  handlersById,
  iso,
  optionalIso,
} from '@picket/platform/feature/handler.ts';
import { found, notFound } from '@picket/platform/http/known-names.ts';
import { pageOf } from '@picket/platform/http/paging.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import { isUniqueViolation } from '@picket/platform/store/engine/dialect.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { storedJson } from '@picket/platform/store/stored-json.ts';
import { parseCursor } from '@picket/protocol/http/cursor.ts';
import {
  type CardInput,
  noCards,
  type StatusPage,
  StatusPageOptions,
  statusPageRoutes,
} from '@picket/protocol/pages/status-page.ts';
import { claimDomain, domainOfBody } from '../custom-domains/claiming.ts';
import type { DomainProof } from '../custom-domains/domain-proof.ts';
import { checkDomainOf, domainStates } from '../custom-domains/shown.ts';
import { serviceView } from '../incidents/routes.ts';
import type { ServiceRow } from '../incidents/tables.ts';
import { requireServices } from '../incidents/writer.ts';
import { changeKeys, keyViews } from './keys.ts';
import type { StatusPageCardRow, StatusPageRow } from './tables.ts';

const storedOptions = storedJson('status_pages.definition', StatusPageOptions);

/** Routes of status pages and their services. */
export function statusPageHandlers(
  deps: HandlerDeps & { readonly domainProof: DomainProof },
): [string, AnyHandler][] {
  const { store, clock, domainProof } = deps;
  const views = (rows: readonly StatusPageRow[], rawKey?: string) =>
    statusPageViews(store, rows, { domainProof, rawKey });
  const one = async (row: StatusPageRow, rawKey?: string): Promise<StatusPage> => {
    const [view] = await views([row], rawKey);
    if (!view) throw new Error('a status page has no view');
    return view;
  };
  return handlersById(statusPageRoutes, {
    async listStatusPages({ caller, query }) {
      const cursor = parseCursor(query.nextId);
      const rows = await store.statusPages.listBehind(caller.accountId, query.limit + 1, cursor);
      return pageOf(rows, query.limit, (shown) => views(shown));
    },
    async createStatusPage({ caller, body }) {
      const now = clock.wallMs();
      const row: StatusPageRow = {
        id: randomUUID(),
        account_id: caller.accountId,
        version: body.version,
        name: body.name,
        url: body.url.toLowerCase(),
        custom_domain: domainOfBody(body.customDomain) ?? null,
        is_private: body.isPrivate ? 1 : 0,
        definition: JSON.stringify(normalised(StatusPageOptions.parse(body))),
        created: now,
        updated: null,
      };
      const rawKey = await refusingTakenAddress(() =>
        store.transaction(async (repositories) => {
          await claimDomain(repositories, domainProof, claimOf(row, now));
          await repositories.statusPages.insert(row);
          // Ids of new cards are assigned by the service.
          const cards = (body.cards ?? []).map(({ id: _, ...card }) => card);
          await writeCards(repositories, row, cards, now);
          return changeKeys(repositories.statusPages, 'sp_', { before: undefined, after: row, now });
        }),
      );
      return one(row, rawKey);
    },
    async getStatusPage({ caller, params }) {
      return one(
        found(await store.statusPages.find(caller.accountId, params.statusPageId), pageNamed(params)),
      );
    },
    async updateStatusPage({ caller, params, body }) {
      const now = clock.wallMs();
      const { changed, rawKey } = await refusingTakenAddress(() =>
        store.transaction(async (repositories) => {
          const stored = found(
            await repositories.statusPages.findForUpdate(caller.accountId, params.statusPageId),
            pageNamed(params),
          );
          const { name, url, customDomain, isPrivate, cards, version, ...options } = body;
          requireVersion(stored.version, { version, cards });
          const row: StatusPageRow = {
            ...stored,
            name: name ?? stored.name,
            url: url?.toLowerCase() ?? stored.url,
            custom_domain:
              customDomain === undefined ? stored.custom_domain : (domainOfBody(customDomain) ?? null),
            is_private: (isPrivate ?? stored.is_private === 1) ? 1 : 0,
            definition: JSON.stringify(
              normalised(StatusPageOptions.parse({ ...statusPageOptions(stored), ...options })),
            ),
            updated: now,
          };
          if (row.custom_domain !== stored.custom_domain) {
            await claimDomain(repositories, domainProof, claimOf(row, now));
          }
          await repositories.statusPages.update(row);
          if (cards) await writeCards(repositories, row, cards, now);
          const keys = { before: stored, after: row, now };
          return { changed: row, rawKey: await changeKeys(repositories.statusPages, 'sp_', keys) };
        }),
      );
      return one(changed, rawKey);
    },
    async checkStatusPageDomain({ caller, params }) {
      const page = found(
        await store.statusPages.find(caller.accountId, params.statusPageId),
        pageNamed(params),
      );
      await checkDomainOf({ ...deps, proof: domainProof }, page);
      return one(page);
    },
    async deleteStatusPage({ caller, params }) {
      const isDeleted = await store.statusPages.delete(caller.accountId, params.statusPageId);
      if (!isDeleted) throw notFound(pageNamed(params));
    },
    async listServices({ caller, query }) {
      const limit = query.paginated ? query.limit : undefined;
      const rows = await store.services.listBehind(
        caller.accountId,
        limit === undefined ? undefined : limit + 1,
        parseCursor(query.nextId),
      );
      return pageOf(rows, limit ?? rows.length, async (shown) => shown.map(serviceView));
    },
    async createService({ caller, body }) {
      const row: ServiceRow = {
        id: randomUUID(),
        account_id: caller.accountId,
        name: body.name,
        created: clock.wallMs(),
        updated: null,
      };
      await store.services.insert(row);
      return serviceView(row);
    },
    async getService({ caller, params }) {
      return serviceView(
        found(await store.services.find(caller.accountId, params.serviceId), serviceNamed(params)),
      );
    },
    async updateService({ caller, params, body }) {
      const identity = { account_id: caller.accountId, id: params.serviceId };
      const row =
        body.name === undefined
          ? await store.services.find(identity.account_id, identity.id)
          : await store.services.update({ ...identity, name: body.name, updated: clock.wallMs() });
      return serviceView(found(row, serviceNamed(params)));
    },
    async deleteService({ caller, params }) {
      const isDeleted = await store.services.delete(caller.accountId, params.serviceId);
      if (!isDeleted) throw notFound(serviceNamed(params));
    },
  });
}

/** @throws AppError VALIDATION_FAILED if a change would make it another kind of page. */
function requireVersion(
  stored: 2 | 3,
  change: { readonly version?: 2 | 3 | undefined; readonly cards?: readonly CardInput[] | undefined },
): void {
  if (change.version !== undefined && change.version !== stored) {
    const message = `must be ${stored}: a page stays one of ${stored === 2 ? 'cards' : 'components'}. Create another page`;
    throw fieldError('payload', [{ key: 'version', message }]);
  }
  if (stored === 3 && (change.cards ?? []).length > 0) {
    throw fieldError('payload', [{ key: 'cards', message: noCards }]);
  }
}

/** Options of a stored page, with defaults for those that a newer build added. */
export function statusPageOptions(row: StatusPageRow): StatusPageOptions {
  return storedOptions(row.definition);
}

/** Converts colors to upper case (check model 4.7). */
function normalised(options: StatusPageOptions): StatusPageOptions {
  if (!options.themeColors) return options;
  return {
    ...options,
    themeColors: JSON.parse(JSON.stringify(options.themeColors).replaceAll(colorText, upper)),
  };
}

const colorText = /"#[0-9A-Fa-f]+"/g;
const upper = (text: string) => text.toUpperCase();

/** Replaces the cards of a page. Existing cards keep their id and creation time. */
async function writeCards(
  repositories: Pick<Repositories, 'services' | 'statusPages'>,
  page: StatusPageRow,
  cards: readonly CardInput[],
  now: number,
): Promise<void> {
  await requireServices(
    repositories,
    page.account_id,
    cards.flatMap(({ services }) => services.map(({ id }) => id.toLowerCase())),
  );
  const present = new Map((await repositories.statusPages.cards([page.id])).map((card) => [card.id, card]));
  const rows = cards.map((card, position): StatusPageCardRow => {
    const id = card.id?.toLowerCase();
    const known = id === undefined ? undefined : present.get(id);
    if (id !== undefined && !known) {
      throw fieldError('payload', [
        { key: `cards.${position}.id`, message: 'is not a card of this page, or is listed twice' },
      ]);
    }
    // An id can be used only once, or two cards would become one.
    if (id !== undefined) present.delete(id);
    return {
      id: id ?? randomUUID(),
      status_page_id: page.id,
      position,
      name: card.name,
      created: known?.created ?? now,
      updated: known ? (known.name === card.name ? known.updated : now) : null,
    };
  });
  const services = rows.flatMap((row, index) => {
    const ids = new Set(cards[index]?.services.map(({ id }) => id.toLowerCase()));
    return [...ids].map((serviceId, position) => ({ card_id: row.id, position, service_id: serviceId }));
  });
  await repositories.statusPages.replaceCards(page.id, rows, services);
}

async function refusingTakenAddress<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (thrown) {
    if (!isUniqueViolation(thrown)) throw thrown;
    throw new AppError('CONFLICT', 'The url is already used. Choose another one.');
  }
}

function claimOf({ account_id, id, custom_domain: host }: StatusPageRow, now: number) {
  return { account_id, status_page_id: id, dashboard_id: null, host, now } as const;
}

function pageNamed({ statusPageId }: { readonly statusPageId: string }): string {
  return `status page ${statusPageId}`;
}

function serviceNamed({ serviceId }: { readonly serviceId: string }): string {
  return `service ${serviceId}`;
}

async function statusPageViews(
  repositories: Pick<Repositories, 'statusPages' | 'customDomains'>,
  rows: readonly StatusPageRow[],
  { domainProof, rawKey }: { readonly domainProof: DomainProof; readonly rawKey: string | undefined },
): Promise<StatusPage[]> {
  const allCards = await repositories.statusPages.cards(rows.map(({ id }) => id));
  const cards = Map.groupBy(allCards, (card) => card.status_page_id);
  const services = Map.groupBy(
    await repositories.statusPages.cardServices(allCards.map(({ id }) => id)),
    (service) => service.card_id,
  );
  const keys = Map.groupBy(
    await repositories.statusPages.keys(rows.flatMap((row) => (row.is_private ? row.id : []))),
    (key) => key.status_page_id,
  );
  const states = await domainStates(repositories, domainProof, rows);
  return rows.map((row) => ({
    id: row.id,
    version: row.version,
    name: row.name,
    url: row.url,
    customDomain: row.custom_domain,
    customDomainState: states.get(row.custom_domain ?? '') ?? null,
    ...statusPageOptions(row),
    whiteLabel: false,
    isPrivate: row.is_private === 1,
    keys: keyViews(keys.get(row.id) ?? [], rawKey),
    cards: (cards.get(row.id) ?? []).map((card) => ({
      id: card.id,
      name: card.name,
      services: (services.get(card.id) ?? []).map(serviceView),
      created_at: iso(card.created),
      updated_at: optionalIso(card.updated),
    })),
    created_at: iso(row.created),
    updated_at: optionalIso(row.updated),
  }));
}
