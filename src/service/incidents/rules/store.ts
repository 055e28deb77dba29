import { findCheckType } from '@picket/checks/index.ts';
import { accountTable } from '@picket/platform/store/engine/account-table.ts';
import { batches, isBehind } from '@picket/platform/store/engine/queries.ts';
import { storedJson } from '@picket/platform/store/stored-json.ts';
import type { Cursor } from '@picket/protocol/http/cursor.ts';
import {
  AutomationRuleInput,
  type AutomationRule as ShownRule,
} from '@picket/protocol/pages/automation-rule.ts';
import { z } from 'zod';
import type { AutomationRuleComponentRow, AutomationRuleRow, ImpactedComponent } from '../tables.ts';

/** Fields of a rule that are stored as written. */
export type RuleDefinition = Pick<
  ShownRule,
  'firstUpdate' | 'lastUpdate' | 'notifySubscribers' | 'tags' | 'coolDownWindowMinutes'
>;

/** A stored rule. */
export interface AutomationRule extends Omit<AutomationRuleRow, 'definition'> {
  readonly definition: RuleDefinition;
}

const { firstUpdate, lastUpdate, notifySubscribers, tags, coolDownWindowMinutes } = AutomationRuleInput.shape;
const definitionOf = storedJson(
  'automation_rules.definition',
  z.object({ firstUpdate, lastUpdate, notifySubscribers, tags, coolDownWindowMinutes }),
);

function fromRow(row: AutomationRuleRow): AutomationRule {
  return { ...row, definition: definitionOf(row.definition) };
}

/** Rules by which failing checks open incidents on status pages. */
export class AutomationRules extends accountTable<AutomationRuleRow, AutomationRule>(fromRow)({
  name: 'automation_rules',
  key: 'id',
}) {
  /** Rules of a page of an account, newest first, after a cursor. */
  async listOfPage(
    accountId: string,
    pageId: string,
    limit: number,
    cursor?: Cursor,
  ): Promise<AutomationRule[]> {
    let query = this.db
      .selectFrom('automation_rules')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('status_page_id', '=', pageId);
    if (cursor) query = query.where(isBehind(cursor));
    const rows = await query.orderBy('created', 'desc').orderBy('id', 'desc').limit(limit).execute();
    return rows.map(fromRow);
  }

  /** Components of rules, in order. */
  async components(ruleIds: readonly string[]): Promise<AutomationRuleComponentRow[]> {
    if (ruleIds.length === 0) return [];
    return this.db
      .selectFrom('automation_rule_components')
      .selectAll()
      .where(this.dialect.inList('rule_id', ruleIds))
      .orderBy('position')
      .execute();
  }

  /** Replaces the tags and components of a rule. */
  async replaceParts(
    ruleId: string,
    tags: readonly string[],
    components: readonly ImpactedComponent[],
  ): Promise<void> {
    await this.db.deleteFrom('automation_rule_tags').where('rule_id', '=', ruleId).execute();
    await this.db.deleteFrom('automation_rule_components').where('rule_id', '=', ruleId).execute();
    for (const batch of batches([...new Set(tags)].map((tag) => ({ rule_id: ruleId, tag })))) {
      await this.db.insertInto('automation_rule_tags').values(batch).execute();
    }
    const rows = components.map(({ componentId, impact }, position) => ({
      ...{ rule_id: ruleId, component_id: componentId, position, impact },
    }));
    for (const batch of batches(rows)) {
      await this.db.insertInto('automation_rule_components').values(batch).execute();
    }
  }

  /** Enabled rules of an account that share a tag with a check or its group. */
  async matching(accountId: string, checkId: string): Promise<string[]> {
    const rows = await this.db
      .selectFrom('automation_rules')
      .select('id')
      .where('account_id', '=', accountId)
      .where('enabled', '=', 1)
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('automation_rule_tags')
          .select('rule_id')
          .where((tag) =>
            tag.or([
              tag('tag', 'in', (own) =>
                own
                  .selectFrom('check_tags')
                  .select('check_tags.tag')
                  .where('check_tags.check_id', '=', checkId),
              ),
              tag('tag', 'in', (group) =>
                group
                  .selectFrom('check_group_tags')
                  .innerJoin('checks', 'checks.group_id', 'check_group_tags.group_id')
                  .select('check_group_tags.tag')
                  .where('checks.id', '=', checkId)
                  .where('checks.account_id', '=', accountId),
              ),
            ]),
          ),
      )
      .orderBy('id')
      .execute();
    return rows.map(({ id }) => id);
  }

  /** Activated checks that open incidents of components of a page, by component. */
  async checksOfComponents(
    accountId: string,
    pageId: string,
  ): Promise<{ readonly componentId: string; readonly checkId: string }[]> {
    const rows = await this.db
      .selectFrom('automation_rules')
      .innerJoin('automation_rule_tags', 'automation_rule_tags.rule_id', 'automation_rules.id')
      .innerJoin('automation_rule_components', 'automation_rule_components.rule_id', 'automation_rules.id')
      .innerJoin('checks', 'checks.account_id', 'automation_rules.account_id')
      .select(['automation_rule_components.component_id', 'checks.id', 'checks.check_type'])
      .distinct()
      .where('automation_rules.account_id', '=', accountId)
      .where('automation_rules.status_page_id', '=', pageId)
      .where('automation_rules.enabled', '=', 1)
      .where((eb) =>
        eb.or([
          eb.exists((own) =>
            own
              .selectFrom('check_tags')
              .select('check_tags.check_id')
              .whereRef('check_tags.check_id', '=', 'checks.id')
              .whereRef('check_tags.tag', '=', 'automation_rule_tags.tag'),
          ),
          eb.exists((group) =>
            group
              .selectFrom('check_group_tags')
              .select('check_group_tags.group_id')
              .whereRef('check_group_tags.group_id', '=', 'checks.group_id')
              .whereRef('check_group_tags.tag', '=', 'automation_rule_tags.tag'),
          ),
        ]),
      )
      .execute();
    return rows
      .filter((row) => !findCheckType(row.check_type)?.pings)
      .map((row) => ({ componentId: row.component_id, checkId: row.id }));
  }
}
