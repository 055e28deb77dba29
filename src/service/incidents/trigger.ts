import { randomUUID } from 'node:crypto';
import { TriggerIncident } from '@picket/checks/contract/definition/common-fields.ts';
import type { Clock } from '@picket/lib/clock.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import type { OwnIncident, RequestedIncident, TriggeredIncident } from './requested-incident.ts';

const incidentOf = storedValue('incident_events.definition', {} as IncidentEvent['incident']);

/**
 * Connects alerts to incidents (check model 2.4). A check with `triggerIncident`, or with tags of automation rules,
 * opens incidents when it sends a failure alert; its recovery resolves them. The event is stored in the transaction
 * that created the alert, and handled in another one, which also removes it: an incident is opened exactly once, even
 * if processes are killed in between, and an alert never waits for incidents.
 */
export interface IncidentEvent {
  readonly kind: 'open' | 'resolve';
  /** Same value in the event that opens an incident and in the one that resolves it, unique otherwise. */
  readonly triggerId: string;
  readonly accountId: string;
  readonly checkId: string;
  /** Incident that the check requested when it failed. */
  readonly incident: RequestedIncident;
  /** When the alert was created, in epoch milliseconds. */
  readonly at: number;
}

/** Opens or resolves an incident within a transaction. On an error the event stays stored and is handled again. */
export type IncidentHandler = (repositories: Repositories, event: IncidentEvent) => Promise<void>;

interface CheckId {
  readonly id: string;
  readonly accountId: string;
}

interface AskingCheck extends CheckId {
  readonly definition: Readonly<Record<string, unknown>>;
}

/** The incident that a check requests itself, and the rules that match it. */
export async function askedBy(
  repositories: Pick<Repositories, 'automationRules'>,
  check: AskingCheck,
): Promise<{ readonly own: OwnIncident | null; readonly ruleIds: readonly string[] }> {
  const own = TriggerIncident.schema.nullable().safeParse(check.definition.triggerIncident ?? null);
  const ruleIds = await repositories.automationRules.matching(check.accountId, check.id);
  return { own: own.success ? own.data : null, ruleIds };
}

/** Requests the incidents of a failing check. */
export async function openIncidents(
  repositories: Pick<Repositories, 'automationRules' | 'incidentEvents'>,
  check: AskingCheck,
  now: number,
): Promise<TriggeredIncident[]> {
  const { own, ruleIds } = await askedBy(repositories, check);
  const asked = [...(own ? [own] : []), ...ruleIds.map((ruleId) => ({ ruleId }))];
  const triggered = asked.map((incident) => ({ triggerId: randomUUID(), incident }));
  for (const one of triggered) await insertEvent(repositories, 'open', check, one, now);
  return triggered;
}

/** Requests the resolution of incidents that `openIncidents` requested. */
export async function resolveIncidents(
  repositories: Pick<Repositories, 'incidentEvents'>,
  check: CheckId,
  triggered: readonly TriggeredIncident[],
  now: number,
): Promise<void> {
  for (const one of triggered) await insertEvent(repositories, 'resolve', check, one, now);
}

async function insertEvent(
  repositories: Pick<Repositories, 'incidentEvents'>,
  kind: IncidentEvent['kind'],
  check: CheckId,
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

/** Passes stored events to their handler in order, each in the transaction that removes it. */
export class IncidentFeed {
  readonly #options: IncidentFeedOptions;

  constructor(options: IncidentFeedOptions) {
    this.#options = options;
  }

  async turn(): Promise<number | null> {
    const { store, clock, handler } = this.#options;
    // Reads first, so that an idle feed opens no write transactions.
    if (!(await store.incidentEvents.hasAny())) return null;
    const taken = await store.transaction(async (repositories) => {
      const rows = await repositories.incidentEvents.lockOldest(eventsPerTurn);
      for (const row of rows) {
        await handler(repositories, {
          kind: row.kind,
          triggerId: row.trigger_id,
          accountId: row.account_id,
          checkId: row.check_id,
          incident: incidentOf(row.definition),
          at: row.created,
        });
        await repositories.incidentEvents.remove(row.position);
      }
      return rows.length;
    });
    return taken === eventsPerTurn ? clock.wallMs() : null;
  }
}
