import { LruMap } from '@picket/lib/lru.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { type AlertChannel, alertChannelRoutes } from '@picket/protocol/alerts/alert-channel.ts';
import { checkRoutes } from '@picket/protocol/checks/check.ts';
import { type PrivateLocation, privateLocationRoutes } from '@picket/protocol/locations/private-location.ts';
import { type StatusPage, statusPageRoutes } from '@picket/protocol/pages/status-page.ts';
import type { PageCall } from '../page.ts';
import { choicesMade } from './choices.ts';

/** Tag of the checks that `npm start` creates to show what Picket does. */
export const exampleTag = 'example';

type ListedLocation = Omit<PrivateLocation, 'minAgentVersion' | 'runningAgents'>;
export interface OwnCheck {
  readonly id: string;
  readonly name: string;
  readonly checkType: string;
  readonly privateLocations: readonly string[];
  readonly tags: readonly string[];
}

/** How far an account is on its first steps. */
export interface Progress {
  readonly locations: readonly ListedLocation[];
  /** The location of the first step: one with an agent, or the newest. */
  readonly location: ListedLocation | undefined;
  readonly hasAgent: boolean;
  /** The check of the next steps: the newest that is not an example. */
  readonly check: OwnCheck | undefined;
  readonly channel: AlertChannel | undefined;
  readonly page: StatusPage | undefined;
}

/** Reads the progress through the operations of the API, as its viewer. */
export async function progressOf({ api, query, form }: PageCall): Promise<Progress> {
  const chosen = (name: string) => form.get(name) ?? query.get(name);
  const [locations, checks, channels, { entries: pages }] = await Promise.all([
    api.call(privateLocationRoutes.listPrivateLocations, { query: {} }),
    api.call(checkRoutes.listChecks, { query: { limit: 100 } }) as Promise<unknown> as Promise<OwnCheck[]>,
    api.call(alertChannelRoutes.listAlertChannels, { query: { limit: 100 } }),
    api.call(statusPageRoutes.listStatusPages, { query: { limit: 1 } }),
  ]);
  const hasAgent = ({ health }: ListedLocation) => health.presentAgents > 0;
  const own = checks.filter(({ tags }) => !tags.includes(exampleTag));
  const location =
    locations.find(({ id }) => id === chosen('location')) ??
    locations.find(hasAgent) ??
    locations.toSorted((left, right) => right.created_at.localeCompare(left.created_at))[0];
  const check = own.find(({ id }) => id === chosen('check')) ?? own[0];
  const subscribed = channels.find(({ subscriptions }) =>
    subscriptions.some((one) => one.checkId === check?.id && one.activated),
  );
  return {
    locations,
    location,
    hasAgent: location !== undefined && hasAgent(location),
    check,
    channel: channels.find(({ id }) => String(id) === chosen('channel')) ?? subscribed,
    page: pages[0],
  };
}

interface Known {
  readonly isOpen: boolean;
  readonly untilMs: number;
}

const keptMs = 3_000;
const known = new WeakMap<Store, LruMap<string, Known>>();

/**
 * Whether the navigation offers the first steps: until an account has a check of its own, a channel and a status page,
 * or the reader dismissed them.
 */
export async function isStartOpen(
  store: Store,
  accountId: string,
  request: PageCall['request'],
): Promise<boolean> {
  if (choicesMade(request).has('dismissed')) return false;
  const ofStore = known.get(store) ?? new LruMap<string, Known>(1_000);
  known.set(store, ofStore);
  const found = ofStore.get(accountId);
  if (found && performance.now() < found.untilMs) return found.isOpen;
  const isOpen =
    (await store.statusPages.findMany(accountId)).length === 0 ||
    (await store.alertChannels.all(accountId)).length === 0 ||
    !(await store.overviews.hasCheckWithout(accountId, exampleTag));
  // Completed steps stay completed for the navigation, even if their objects are deleted later.
  ofStore.set(accountId, {
    isOpen,
    untilMs: isOpen ? performance.now() + keptMs : Number.POSITIVE_INFINITY,
  });
  return isOpen;
}
