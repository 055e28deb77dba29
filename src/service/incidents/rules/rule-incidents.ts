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
 * Incidents by automation rules. A rule has at most one open incident at a time, however many checks fail by it:
 * the first one opens it, later ones join it, and the recovery of the last one resolves it. What fails by a rule,
 * a check or the checks of one cause, is a row until it has recovered. Soon after an incident of the rule has
 * ended it waits, and opens the next one if it still fails when the rule has cooled down. An incident that people
 * resolved meanwhile stays as they left it. During a maintenance of one of the rule's
 * components whose window says `suppressAutoIncidents` none is opened; what still fails afterwards opens one. All
 * of it holds the rule's row, so that two processes take turns.
 */
export interface MailingOptions {
  /** Whether subscribers can be mailed. */
  readonly hasMailer: boolean;
  readonly publicUrl?: string | undefined;
}

/** How often what fails during a maintenance is looked at. */
const maintenanceLookMs = 60_000;

/** What fails by a rule, or has recovered. */
export interface RuleEvent {
  readonly triggerId: string;
  readonly accountId: string;
  readonly checkId: string;
  readonly ruleId: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** Notes that something fails by a rule, within a transaction; the same event counts once. */
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
  // Its components were deleted: there is nothing to say anything of.
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

/** Notes that what failed by a rule has recovered, within a transaction. */
export async function recoverByRule(
  repositories: Repositories,
  { accountId, triggerId, ruleId, at }: RuleEvent,
  options: MailingOptions,
): Promise<void> {
  const rule = await repositories.automationRules.findForUpdate(accountId, ruleId);
  const failure = await repositories.ruleFailures.find(triggerId);
  if (!failure) return;
  const { incident_id: incidentId } = failure;
  // Held before the row goes: of two last recoveries at once, where the rule is gone, one has to see the other.
  const incident =
    incidentId === null ? undefined : await repositories.incidents.findForUpdate(accountId, incidentId);
  await repositories.ruleFailures.remove(triggerId);
  if (incident?.ended !== null || (await repositories.ruleFailures.hasOf(incident.id))) return;
  const update = await addUpdate(
    repositories,
    incident,
    {
      status: 'RESOLVED',
      // The rule is gone; its incident is not to stay open for that.
      description: rule?.definition.lastUpdate ?? 'The checks recovered.',
      published: at,
      notifySubscribers: rule?.definition.notifySubscribers ?? false,
    },
    at,
  );
  await mailIncidentUpdate(repositories, incident, update, options);
}

const failuresPerTurn = 50;

/** Lets what waits for rules to cool down open its incidents. */
export class WaitingFailures {
  readonly #options: MailingOptions & { readonly store: Store; readonly clock: Clock };

  constructor(options: MailingOptions & { readonly store: Store; readonly clock: Clock }) {
    this.#options = options;
  }

  /** @returns when the next one is due; null when none waits. */
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

/** Whether a maintenance of components of a rule goes on, whose window wishes no incidents of checks meanwhile. */
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
