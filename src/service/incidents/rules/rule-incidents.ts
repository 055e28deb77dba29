import type { Clock } from '@picket/lib/clock.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { affectedComponents, isShownOn } from '../../maintenance/affected.ts';
import { isGoingOn, visibleMaintenances } from '../../maintenance/pages.ts';
import { severityOf, worstImpact } from '../impact.ts';
import { mailIncidentUpdate } from '../subscriber-mails.ts';
import type { RuleFailureRow } from '../tables.ts';
import { addUpdate, openIncident } from '../writer.ts';
import type { AutomationRule } from './store.ts';

/**
 * Incidents by automation rules. A rule has at most one open incident at a time, however many failing checks it
 * matches: the first one opens it, later ones join it, and the recovery of the last one resolves it. Each failure by a
 * rule, of a check or of the checks of one cause, is a row until it has recovered. A failure soon after an incident of
 * the rule has ended waits, and opens the next incident if it still lasts when the rule has cooled down. An incident
 * that a user resolved meanwhile stays unchanged. During a maintenance of one of the rule's components whose window
 * sets `suppressAutoIncidents` none is opened; failures that outlast it open one. All of this locks the row of the
 * rule, so that processes take turns.
 */
export interface MailingOptions {
  /** Whether mails to subscribers can be sent. */
  readonly hasMailer: boolean;
  readonly publicUrl?: string | undefined;
}

/** How often failures during a maintenance are examined. */
const maintenanceLookMs = 60_000;

/** A failure by a rule, or its recovery. */
export interface RuleEvent {
  readonly triggerId: string;
  readonly accountId: string;
  readonly checkId: string;
  readonly ruleId: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** Records a failure by a rule, within a transaction; repeated events count once. */
export async function failByRule(
  repositories: Repositories,
  event: RuleEvent,
  options: MailingOptions,
): Promise<void> {
  const { accountId, triggerId, checkId, ruleId, at } = event;
  const rule = await repositories.automationRules.findForUpdate(accountId, ruleId);
  if (rule?.enabled !== 1 || (await repositories.ruleFailures.find(triggerId))) return;
  const failure: RuleFailureRow = {
    trigger_id: triggerId,
    account_id: accountId,
    rule_id: ruleId,
    check_id: checkId,
    incident_id: null,
    waits_until: null,
    created: at,
  };
  const components = await repositories.automationRules.components([ruleId]);
  const componentIds = components.map(({ component_id: id }) => id);
  if (await isSuppressed(repositories, rule, componentIds, at)) {
    await repositories.ruleFailures.insert({ ...failure, waits_until: at + maintenanceLookMs });
    return;
  }
  const newest = await repositories.incidents.newestOfRule(ruleId);
  if (newest?.ended === null) {
    await repositories.ruleFailures.insert({ ...failure, incident_id: newest.id });
    return;
  }
  const { coolDownWindowMinutes, firstUpdate, notifySubscribers } = rule.definition;
  const cooledAt = newest ? (newest.ended ?? 0) + coolDownWindowMinutes * 60_000 : 0;
  if (at < cooledAt) {
    await repositories.ruleFailures.insert({ ...failure, waits_until: cooledAt });
    return;
  }
  const worst = worstImpact(components.map(({ impact }) => impact));
  // Its components were deleted, so nothing is affected.
  if (worst === undefined) return;
  const { row, update } = await openIncident(
    repositories,
    {
      accountId,
      name: rule.name,
      severity: severityOf(worst),
      serviceIds: [],
      components: components.map(({ component_id: componentId, impact }) => ({ componentId, impact })),
      update: { status: 'INVESTIGATING', description: firstUpdate, published: at, notifySubscribers },
      cause: { checkId, triggerId, ruleId },
    },
    at,
  );
  await repositories.ruleFailures.insert({ ...failure, incident_id: row.id });
  await mailIncidentUpdate(repositories, row, update, options);
}

/** Records the recovery of a failure by a rule, within a transaction. */
export async function recoverByRule(
  repositories: Repositories,
  { accountId, triggerId, ruleId, at }: RuleEvent,
  options: MailingOptions,
): Promise<void> {
  const rule = await repositories.automationRules.findForUpdate(accountId, ruleId);
  const failure = await repositories.ruleFailures.find(triggerId);
  if (!failure) return;
  const { incident_id: incidentId } = failure;
  // Locked before the row is deleted: without a rule to lock, the last two recoveries at once must see each other.
  const incident =
    incidentId === null ? undefined : await repositories.incidents.findForUpdate(accountId, incidentId);
  await repositories.ruleFailures.remove(triggerId);
  if (incident?.ended !== null || (await repositories.ruleFailures.hasOf(incident.id))) return;
  const update = await addUpdate(
    repositories,
    incident,
    {
      status: 'RESOLVED',
      // The rule was deleted; its incident must still be resolved.
      description: rule?.definition.lastUpdate ?? 'The checks recovered.',
      published: at,
      notifySubscribers: rule?.definition.notifySubscribers ?? false,
    },
    at,
  );
  await mailIncidentUpdate(repositories, incident, update, options);
}

const failuresPerTurn = 50;

/** Opens incidents for failures whose wait for their rule is over. */
export class WaitingFailures {
  readonly #options: MailingOptions & { readonly store: Store; readonly clock: Clock };

  constructor(options: MailingOptions & { readonly store: Store; readonly clock: Clock }) {
    this.#options = options;
  }

  /** @returns when the next one is due; null if none waits. */
  async turn(): Promise<number | null> {
    const { store, clock } = this.#options;
    const next = await store.ruleFailures.nextAt();
    if (next === null || next > clock.wallMs()) return next;
    await store.transaction(async (repositories) => {
      const now = clock.wallMs();
      for (const due of await repositories.ruleFailures.lockDue(now, failuresPerTurn)) {
        await repositories.ruleFailures.remove(due.trigger_id);
        const event = {
          triggerId: due.trigger_id,
          accountId: due.account_id,
          checkId: due.check_id,
          ruleId: due.rule_id,
          at: now,
        };
        await failByRule(repositories, event, this.#options);
      }
    });
    return store.ruleFailures.nextAt();
  }
}

/** Whether a maintenance of the rule's components whose window suppresses automatic incidents is in progress. */
async function isSuppressed(
  repositories: Pick<Repositories, 'components' | 'maintenances' | 'windows'>,
  rule: Pick<AutomationRule, 'account_id' | 'status_page_id'>,
  componentIds: readonly string[],
  at: number,
): Promise<boolean> {
  const present = { pastMs: 0, aheadMs: 0 };
  const maintenances = await visibleMaintenances(repositories, at, present, rule.account_id);
  const suppressing = maintenances.filter((one) => isGoingOn(one) && one.visibility.suppressAutoIncidents);
  if (suppressing.length === 0) return false;
  const components = await repositories.components.ofPage(rule.status_page_id);
  return suppressing.some(({ visibility }) => {
    if (!isShownOn(visibility, rule.status_page_id, { serviceIds: [], components })) return false;
    const affected = affectedComponents(visibility, components);
    return componentIds.some((id) => affected.has(id));
  });
}
