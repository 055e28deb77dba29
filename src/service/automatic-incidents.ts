import type { Clock } from '../lib/clock.ts';
import { addUpdate, openIncident } from './incident-writer.ts';
import type { IncidentSeverity } from './store/page-tables.ts';
import type { Nouns, Store } from './store/store.ts';
import { mailsAbout, type SubscriberMail, type SubscriberMailer } from './subscriber-mails.ts';

/** What an alert asks for (`triggerIncident` of its check, check model 2.4). */
export interface IncidentOrder {
  /** The alert: the same one when it opens an incident and when it resolves it. */
  readonly triggerId: string;
  readonly accountId: string;
  readonly checkId: string;
  readonly serviceId: string;
  readonly severity: IncidentSeverity;
  readonly name: string;
  readonly description: string;
  readonly notifySubscribers: boolean;
}

export interface AutomaticIncidentsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly publicUrl?: string | undefined;
  readonly subscriberMailer?: SubscriberMailer | undefined;
}

/**
 * Incidents that follow the alerts of checks. `open` and `resolve` may be told of one alert any number of times, in any
 * process: an alert opens one incident, once, and resolves that one only. A service that is gone, or not the
 * account's, gets none. An incident that people resolved before the check recovered stays as they left it.
 */
export class AutomaticIncidents {
  readonly #deps: AutomaticIncidentsDeps;

  constructor(deps: AutomaticIncidentsDeps) {
    this.#deps = deps;
  }

  /** A check sent its failure alert: opens an incident, INVESTIGATING. */
  async open(order: IncidentOrder): Promise<void> {
    await this.#write(async (nouns, now) => {
      // Locks the service, so that two tellings of one alert take turns.
      const services = await nouns.services.findMany(order.accountId, [order.serviceId]);
      if (!services.has(order.serviceId) || (await nouns.incidents.findByTrigger(order.triggerId))) return [];
      const { row, update } = await openIncident(
        nouns,
        {
          accountId: order.accountId,
          name: order.name,
          severity: order.severity,
          serviceIds: [order.serviceId],
          update: {
            status: 'INVESTIGATING',
            description: order.description,
            published: now,
            notifySubscribers: order.notifySubscribers,
          },
          cause: { checkId: order.checkId, triggerId: order.triggerId },
        },
        now,
      );
      return mailsAbout(nouns, row, update, this.#deps.publicUrl);
    });
  }

  /** A check recovered: adds an update RESOLVED to the incident its alert opened. */
  async resolve(order: Pick<IncidentOrder, 'triggerId' | 'notifySubscribers'>): Promise<void> {
    await this.#write(async (nouns, now) => {
      const incident = await nouns.incidents.findByTrigger(order.triggerId);
      if (!incident || incident.ended !== null) return [];
      const update = await addUpdate(
        nouns,
        incident,
        {
          status: 'RESOLVED',
          description: 'The check recovered.',
          published: now,
          notifySubscribers: order.notifySubscribers,
        },
        now,
      );
      return mailsAbout(nouns, incident, update, this.#deps.publicUrl);
    });
  }

  async #write(work: (nouns: Nouns, now: number) => Promise<SubscriberMail[]>): Promise<void> {
    const { store, clock, subscriberMailer } = this.#deps;
    const mails = await store.transaction((nouns) => work(nouns, clock.wallMs()));
    if (mails.length > 0) subscriberMailer?.send(mails);
  }
}
