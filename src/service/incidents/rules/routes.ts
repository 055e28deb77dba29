import { randomUUID } from 'node:crypto';
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
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { parseCursor } from '@picket/protocol/http/cursor.ts';
import {
  type AutomationRuleInput,
  automationRuleRoutes,
  type AutomationRule as ShownRule,
} from '@picket/protocol/pages/automation-rule.ts';
import { pageOfCards } from '@picket/protocol/pages/status-page.ts';
import type { AutomationRuleRow, ImpactedComponent } from '../tables.ts';
import { requireComponents } from '../writer.ts';
import type { AutomationRule, RuleDefinition } from './store.ts';

const mostOfPage = 200;

/** Routes of the rules by which failing checks open incidents on status pages. */
export function automationRuleHandlers({ store, clock }: HandlerDeps): [string, AnyHandler][] {
  return handlersById(automationRuleRoutes, {
    async listAutomationRules({ caller: { accountId }, query }) {
      const { limit, statusPageId } = query;
      const cursor = parseCursor(query.nextId);
      const rows =
        statusPageId === undefined
          ? await store.automationRules.listBehind(accountId, limit + 1, cursor)
          : await store.automationRules.listOfPage(accountId, statusPageId.toLowerCase(), limit + 1, cursor);
      return pageOf(rows, limit, (shown) => views(store, shown));
    },
    async createAutomationRule({ caller: { accountId }, body }) {
      const now = clock.wallMs();
      const pageId = body.statusPageId.toLowerCase();
      const row: AutomationRuleRow = {
        id: randomUUID(),
        account_id: accountId,
        status_page_id: pageId,
        ...columnsOf(body),
        created: now,
        updated: null,
      };
      return store.transaction(async (repositories) => {
        const page = found(
          await repositories.statusPages.findForUpdate(accountId, pageId),
          `status page ${pageId}`,
        );
        if (page.version !== 3) {
          throw refuse('statusPageId', pageOfCards);
        }
        const others = await repositories.automationRules.listOfPage(accountId, pageId, mostOfPage);
        if (others.length >= mostOfPage) throw refuse('statusPageId', `has ${mostOfPage} rules already`);
        const components = await requireOfPage(repositories, accountId, pageId, body.components);
        const rule = await repositories.automationRules.insert(row);
        await repositories.automationRules.replaceParts(row.id, body.tags, components);
        return one(repositories, rule);
      });
    },
    async getAutomationRule({ caller, params }) {
      return one(
        store,
        found(await store.automationRules.find(caller.accountId, params.automationRuleId), ruleNamed(params)),
      );
    },
    async updateAutomationRule({ caller: { accountId }, params, body }) {
      return store.transaction(async (repositories) => {
        const stored = found(
          await repositories.automationRules.findForUpdate(accountId, params.automationRuleId),
          ruleNamed(params),
        );
        const pageId = stored.status_page_id;
        if (body.statusPageId !== undefined && body.statusPageId.toLowerCase() !== pageId) {
          throw refuse('statusPageId', `must be ${pageId}, as it is: delete the rule and create another one`);
        }
        const before = await one(repositories, stored);
        const whole: AutomationRuleInput = {
          ...before,
          ...Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)),
        };
        const components = await requireOfPage(repositories, accountId, pageId, whole.components);
        const changed = found(
          await repositories.automationRules.update({
            account_id: accountId,
            id: stored.id,
            ...columnsOf(whole),
            updated: clock.wallMs(),
          }),
          ruleNamed(params),
        );
        await repositories.automationRules.replaceParts(stored.id, whole.tags, components);
        return one(repositories, changed);
      });
    },
    async deleteAutomationRule({ caller, params }) {
      const isDeleted = await store.automationRules.delete(caller.accountId, params.automationRuleId);
      if (!isDeleted) throw notFound(ruleNamed(params));
    },
  });
}

function columnsOf(input: AutomationRuleInput): Pick<AutomationRuleRow, 'name' | 'enabled' | 'definition'> {
  const { firstUpdate, lastUpdate, notifySubscribers, tags, coolDownWindowMinutes } = input;
  const definition: RuleDefinition = {
    firstUpdate,
    lastUpdate,
    notifySubscribers,
    tags,
    coolDownWindowMinutes,
  };
  return { name: input.name, enabled: input.enabled ? 1 : 0, definition: JSON.stringify(definition) };
}

/** @throws AppError NOT_FOUND, or VALIDATION_FAILED if a component is on another page, or named twice. */
async function requireOfPage(
  repositories: Pick<Repositories, 'components'>,
  accountId: string,
  pageId: string,
  components: AutomationRuleInput['components'],
): Promise<ImpactedComponent[]> {
  const impacted = components.map(({ componentId, targetImpact }) => ({
    componentId: componentId.toLowerCase(),
    impact: targetImpact,
  }));
  const ids = impacted.map(({ componentId }) => componentId);
  const known = await requireComponents(repositories, accountId, ids);
  const problems = ids.flatMap((id, index) => {
    const key = `components.${index}.componentId`;
    if (known.get(id)?.status_page_id !== pageId)
      return [{ key, message: `is on another status page: ${id}` }];
    return ids.indexOf(id) < index ? [{ key, message: `stands twice: ${id}` }] : [];
  });
  if (problems.length > 0) throw fieldError('payload', problems);
  return impacted;
}

function refuse(key: string, message: string): Error {
  return fieldError('payload', [{ key, message }]);
}

function ruleNamed({ automationRuleId }: { readonly automationRuleId: string }): string {
  return `automation rule ${automationRuleId}`;
}

async function one(
  repositories: Pick<Repositories, 'automationRules'>,
  rule: AutomationRule,
): Promise<ShownRule> {
  const [view] = await views(repositories, [rule]);
  return found(view, `automation rule ${rule.id}`);
}

async function views(
  { automationRules }: Pick<Repositories, 'automationRules'>,
  rules: readonly AutomationRule[],
): Promise<ShownRule[]> {
  const components = Map.groupBy(
    await automationRules.components(rules.map(({ id }) => id)),
    (component) => component.rule_id,
  );
  return rules.map((rule) => ({
    id: rule.id,
    statusPageId: rule.status_page_id,
    name: rule.name,
    enabled: rule.enabled === 1,
    ...rule.definition,
    components: (components.get(rule.id) ?? []).map(({ component_id: componentId, impact }) => ({
      componentId,
      targetImpact: impact,
    })),
    created_at: iso(rule.created),
    updated_at: optionalIso(rule.updated),
  }));
}
