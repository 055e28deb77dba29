import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { TriggerIncident } from '../../checks/contract/common-fields.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Check } from '../checks/store.ts';
import type { Repositories, Store } from '../store.ts';

/**
 * The way from alerts to incidents (check model 2.4). A check with `triggerIncident` that sends a failure
 * alert has an incident opened; its recovery resolves it. The event is stored in the transaction that made
 * the alert, and handed over in another one, which also removes it: an incident is opened exactly once,
 * whatever is killed in between, and an alert never waits for incidents.
 */
export interface IncidentEvent {
  readonly kind: 'open' | 'resolve';
  /** The same in the event that opens an incident and in the one that resolves it, and in no other. */
  readonly triggerId: string;
  readonly accountId: string;
  readonly checkId: string;
  /** What the check asked for when it failed. */
  readonly incident: z.output<typeof TriggerIncident>;
  /** When the alert was made, in epoch milliseconds. */
  readonly at: number;
}

/**
 * Opens or resolves an incident within a transaction. An error leaves the event stored, to be handed over
 * again.
 */
export type IncidentHandler = (repositories: Repositories, event: IncidentEvent) => Promise<void>;

/** An incident that was asked for and not resolved yet, as the state of the check keeps it. */
export interface TriggeredIncident {
  readonly triggerId: string;
  readonly incident: IncidentEvent['incident'];
}

/** Has an incident opened for a check; null when it asks for none. */
export async function openIncident(
  repositories: Repositories,
  check: Check,
  now: number,
): Promise<TriggeredIncident | null> {
  const asked = TriggerIncident.nullable().safeParse(check.definition.triggerIncident ?? null);
  if (!asked.success || asked.data === null) return null;
  const triggered = { triggerId: randomUUID(), incident: asked.data };
  await insertEvent(repositories, 'open', check, triggered, now);
  return triggered;
}

/** Has an incident resolved that `openIncident` asked for. */
export async function resolveIncident(
  repositories: Repositories,
  check: Check,
  triggered: TriggeredIncident,
  now: number,
): Promise<void> {
  await insertEvent(repositories, 'resolve', check, triggered, now);
}

async function insertEvent(
  repositories: Repositories,
  kind: IncidentEvent['kind'],
  check: Check,
  { triggerId, incident }: TriggeredIncident,
  now: number,
): Promise<void> {
  await repositories.incidentEvents.insert({
    trigger_id: triggerId,
    account_id: check.accountId,
    check_id: check.id,
    kind,
    definition: JSON.stringify(incident),
    created: now,
  });
}

export interface IncidentFeedOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly handler: IncidentHandler;
}

const eventsPerTurn = 50;

/** Hands stored events to their handler, in their order, each in a transaction with its removal. */
export class IncidentFeed {
  readonly #options: IncidentFeedOptions;

  constructor(options: IncidentFeedOptions) {
    this.#options = options;
  }

  async turn(): Promise<number | null> {
    const { store, clock, handler } = this.#options;
    // Read first: an idle feed opens no write transactions.
    if (!(await store.incidentEvents.hasAny())) return null;
    const taken = await store.transaction(async (repositories) => {
      const rows = await repositories.incidentEvents.lockOldest(eventsPerTurn);
      for (const row of rows) {
        await handler(repositories, {
          kind: row.kind,
          triggerId: row.trigger_id,
          accountId: row.account_id,
          checkId: row.check_id,
          incident: JSON.parse(row.definition) as IncidentEvent['incident'],
          at: row.created,
        });
        await repositories.incidentEvents.remove(row.position);
      }
      return rows.length;
    });
    return taken === eventsPerTurn ? clock.wallMs() : null;
  }
}
