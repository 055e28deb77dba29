import type { Clock } from '@picket/lib/clock.ts';
import { packageVersion } from '@picket/lib/version.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { agentSeenWindowMs, isOutdated, runningSessions } from '../agent-presence/presence.ts';
import type { AgentRow } from '../agent-presence/tables.ts';
import { type StoredChannel, wantsNotice } from '../alerts/channels/rules.ts';
import type { AlertChannel } from '../alerts/channels/store.ts';
import type { AlertFacts } from '../alerts/facts.ts';
import { storeLocationAlert } from '../alerts/location-alerts.ts';
import { alertId } from '../alerts/raise.ts';
import type { AlertRow } from '../alerts/tables.ts';
import type { PrivateLocationRow } from './tables.ts';

/** Longer than a rolling upgrade: an operator who upgrades the service first upgrades its agents next. */
export const outdatedGraceMs = 60 * 60_000;
/** An agent that restarts is away for less: its location is not current for that. */
export const currentAfterMs = 5 * 60_000;

const shownVersions = 3;

/**
 * Notifies channels of locations whose agents stay outdated, once, and once when all are current. The start and the
 * end of the state are kept in memory: a new leader begins to wait anew, and never notifies twice.
 */
export class OutdatedAgentsWatch {
  readonly #store: Store;
  readonly #clock: Pick<Clock, 'wallMs'>;
  /** Since when there are outdated agents, by location. */
  readonly #outdatedSince = new Map<string, number>();
  /** Since when all are current, for locations whose channels know of some. */
  readonly #currentSince = new Map<string, number>();

  constructor({ store, clock }: { readonly store: Store; readonly clock: Pick<Clock, 'wallMs'> }) {
    this.#store = store;
    this.#clock = clock;
  }

  async turn(): Promise<null> {
    const now = this.#clock.wallMs();
    const ids = (await this.#store.locationMinutes.locations()).map(({ id }) => id);
    const known = await this.#store.locations.outdated();
    const seen = await this.#store.locations.agents(ids, now - agentSeenWindowMs);
    const sessions = Map.groupBy(seen, (session) => session.location_id);
    for (const gone of this.#outdatedSince.keys()) {
      if (!sessions.has(gone)) this.#outdatedSince.delete(gone);
    }
    for (const id of ids) {
      const running = runningSessions(sessions.get(id) ?? []);
      const outdated = running.filter(({ version }) => isOutdated(version));
      const since = known.get(id);
      if (outdated.length > 0) await this.#find({ id, running, outdated, isKnown: since !== undefined, now });
      else await this.#miss({ id, since, now });
    }
    return null;
  }

  async #find(found: {
    readonly id: string;
    readonly running: readonly AgentRow[];
    readonly outdated: readonly AgentRow[];
    readonly isKnown: boolean;
    readonly now: number;
  }): Promise<void> {
    const { id, running, outdated, isKnown, now } = found;
    this.#currentSince.delete(id);
    const since = this.#outdatedSince.get(id) ?? now;
    this.#outdatedSince.set(id, since);
    if (isKnown || now - since < outdatedGraceMs) return;
    await this.#transact(async (repositories) => {
      const location = await repositories.locations.beginOutdated(id, since);
      if (!location) return false;
      const channels = await repositories.alertChannels.notifiedOfLocation(
        location.account_id,
        location.slug_name,
      );
      const error = explanationOf(running, outdated);
      return await notify(repositories, { location, since, notice: 'degraded', error, now }, channels);
    });
  }

  async #miss({
    id,
    since,
    now,
  }: {
    readonly id: string;
    readonly since: number | undefined;
    readonly now: number;
  }): Promise<void> {
    this.#outdatedSince.delete(id);
    if (since === undefined) return void this.#currentSince.delete(id);
    const currentSince = this.#currentSince.get(id) ?? now;
    this.#currentSince.set(id, currentSince);
    if (now - currentSince < currentAfterMs) return;
    this.#currentSince.delete(id);
    await this.#transact(async (repositories) => {
      const location = await repositories.locations.endOutdated(id, since);
      if (!location) return false;
      const channels = await repositories.alertChannels.notifiedOfAlert(outdatedId(id, since));
      return await notify(repositories, { location, since, notice: 'recovery', error: null, now }, channels);
    });
  }

  async #transact(work: (repositories: Repositories) => Promise<boolean>): Promise<void> {
    if (await this.#store.transaction(work)) this.#store.signals.send([{ kind: 'alerts' }]);
  }
}

/** Which agents are outdated, and what to do. */
function explanationOf(running: readonly AgentRow[], outdated: readonly AgentRow[]): string {
  const versions = [...new Set(outdated.map(({ version }) => version))].sort();
  const shown = versions.slice(0, shownVersions).join(', ');
  const listed = versions.length > shownVersions ? `${shown} and others` : shown;
  const own = packageVersion();
  return `${outdated.length} of ${running.length} agents of this location are outdated: version ${listed}, and the service has ${own}. Upgrade them: new features have no effect there, and the next version of the service may not work with them.`;
}

interface OutdatedNotice {
  readonly location: PrivateLocationRow;
  readonly since: number;
  readonly notice: 'degraded' | 'recovery';
  readonly error: string | null;
  readonly now: number;
}

async function notify(
  repositories: Repositories,
  { location, since, notice, error, now }: OutdatedNotice,
  channels: readonly AlertChannel[],
): Promise<boolean> {
  const begin = outdatedId(location.id, since);
  const facts: AlertFacts = {
    subject: 'outdated',
    checkName: location.name,
    checkType: 'PRIVATE_LOCATION',
    checkDescription: null,
    groupName: null,
    tags: [],
    runLocation: location.slug_name,
    responseTimeMs: null,
    error,
    statusCode: null,
    statusText: null,
    startedAt: since,
    reminder: 0,
    recoversFrom: notice === 'recovery' ? 'degraded' : null,
    certificate: null,
  };
  const alert: AlertRow = {
    id: notice === 'degraded' ? begin : alertId(begin, 'current'),
    account_id: location.account_id,
    check_id: location.id,
    alert_type: notice === 'degraded' ? 'ALERT_LOCATION_OUTDATED' : 'ALERT_LOCATION_CURRENT',
    notice,
    result_id: null,
    facts: JSON.stringify(facts),
    created: now,
  };
  const wanted = channels.filter((channel) =>
    wantsNotice(channel.definition as StoredChannel, notice, facts),
  );
  return await storeLocationAlert(repositories, alert, wanted);
}

function outdatedId(locationId: string, since: number): string {
  return alertId(locationId, 'outdated', String(since));
}
