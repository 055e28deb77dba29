import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { MaintenanceStatus } from '@picket/protocol/pages/maintenance.ts';
import type { WindowDefinition } from '@picket/protocol/pages/maintenance-window.ts';
import { mailSubscribers } from '../mail/subscriber-mails.ts';
import { hiddenAmong } from './affected.ts';
import { longestOverrunMs, type PlannedMaintenance, statusAt } from './calendar.ts';
import { withCalendars } from './maintenance.ts';

type Visibility = NonNullable<WindowDefinition['statusPageVisibility']>;

/** A maintenance that status pages may show. */
export interface VisibleMaintenance {
  readonly windowId: number;
  readonly accountId: string;
  readonly definition: WindowDefinition;
  readonly visibility: Visibility;
  readonly planned: PlannedMaintenance;
  readonly status: MaintenanceStatus;
}

/** Limit per window, more than readers need. */
const maxPerWindow = 20;

/**
 * Maintenances of windows with `statusPageVisibility`, of one account or of all, that have been over for at most
 * `pastMs` and begin within `aheadMs`; soonest first.
 */
export async function visibleMaintenances(
  repositories: Pick<Repositories, 'windows' | 'maintenances'>,
  now: number,
  time: { readonly pastMs: number; readonly aheadMs: number },
  accountId?: string,
): Promise<VisibleMaintenance[]> {
  // One that does not end automatically may last long after its end.
  const from = now - Math.max(time.pastMs, longestOverrunMs);
  const windows = await repositories.windows.visible({ from, to: now + time.aheadMs }, accountId);
  const all = (await withCalendars(repositories, windows)).flatMap(
    ({ id, accountId: owner, definition, calendar }) => {
      const visibility = definition.statusPageVisibility;
      if (!visibility?.enabled) return [];
      const since = now - (visibility.autoEnd ? time.pastMs : Math.max(time.pastMs, longestOverrunMs));
      return calendar.from(since, { limit: maxPerWindow, offset: 0 }).flatMap((planned) => {
        if (planned.startsAt > now + time.aheadMs) return [];
        const status = statusAt(planned, now, visibility);
        return [{ windowId: id, accountId: owner, definition, visibility, planned, status }];
      });
    },
  );
  return all.sort((left, right) => left.planned.startsAt - right.planned.startsAt);
}

/** Whether a maintenance is in progress. */
export function isGoingOn({ status }: Pick<VisibleMaintenance, 'status'>): boolean {
  return status === 'IN_PROGRESS' || status === 'VERIFYING';
}

export interface MaintenanceMail {
  /** Event, as the start of the subject. */
  readonly subject: string;
  readonly text: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** Stores the mails to subscribers about a maintenance, in the transaction that requires them. */
export async function mailMaintenance(
  repositories: Pick<Repositories, 'statusPages' | 'components' | 'subscriptions' | 'subscriberMails'>,
  maintenance: { readonly accountId: string; readonly definition: WindowDefinition },
  options: { readonly hasMailer?: boolean | undefined; readonly publicUrl?: string | undefined },
  mail: MaintenanceMail,
): Promise<void> {
  const { accountId, definition } = maintenance;
  const visibility = definition.statusPageVisibility;
  if (!options.hasMailer || !visibility?.enabled) return;
  const pages = await pagesOf(repositories, accountId, visibility);
  await mailSubscribers(repositories, pages, options, {
    subject: `${mail.subject}: ${definition.name}`,
    text: mail.text,
    at: mail.at,
  });
}

/** Maintenances that a page hides are not announced to its subscribers. */
async function pagesOf(
  { statusPages, components }: Pick<Repositories, 'statusPages' | 'components'>,
  accountId: string,
  visibility: Visibility,
): Promise<{ id: string; account_id: string; name: string }[]> {
  const { statusPageIds, serviceIds, componentIds, affectAllServices } = visibility;
  const lower = (ids: readonly string[]) => ids.map((id) => id.toLowerCase());
  if (statusPageIds.length > 0) return statusPages.findMany(accountId, lower(statusPageIds));
  if (affectAllServices) return statusPages.findMany(accountId);
  const named = await components.findMany(accountId, lower(componentIds));
  const pageIds = new Set<string>();
  for (const id of new Set([...named.values()].map((one) => one.status_page_id))) {
    const hidden = hiddenAmong(await components.ofPage(id));
    if ([...named.keys()].some((one) => !hidden.has(one) && named.get(one)?.status_page_id === id)) {
      pageIds.add(id);
    }
  }
  const showing = await statusPages.showing(lower(serviceIds));
  return [
    ...showing.filter((page) => page.account_id === accountId),
    ...(pageIds.size === 0 ? [] : await statusPages.findMany(accountId, [...pageIds])),
  ];
}
