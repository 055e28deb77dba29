import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { CursorPaging, cursorPage } from '../http/cursor.ts';
import { ManagedFields } from '../http/managed-fields.ts';
import { created, defineRoutes } from '../http/route.ts';
import { patchOf } from './page-fields.ts';
import { ComponentImpact } from './status-page-component.ts';

const text = z.string().min(1).max(10_000);
const fields = {
  name: z.string().min(1).max(255).describe('Also the name of the incidents it opens'),
  enabled: z
    .boolean()
    .default(true)
    .describe('false: the rule opens no incidents; open ones are still resolved'),
  firstUpdate: text.describe('Message of the update that opens an incident'),
  lastUpdate: text.describe('Message of the update that resolves it'),
  notifySubscribers: z.boolean().default(true).describe('Whether subscribers are mailed both updates'),
  tags: z
    .array(z.string().min(1).max(255))
    .min(1)
    .max(100)
    .describe('Checks with any of these tags, their own or their group’s'),
  coolDownWindowMinutes: z
    .int()
    .min(0)
    .max(10_080)
    .default(5)
    .describe(
      'Pause in minutes after an incident of the rule ends. If checks still fail after the pause, the next incident opens. 0: no pause',
    ),
  components: z
    .array(z.object({ componentId: z.uuid(), targetImpact: ComponentImpact.schema }))
    .min(1)
    .max(100)
    .describe('Components of the page that its incidents affect, with their states'),
};

export const AutomationRuleInput = lazySchema(() =>
  z
    .object({
      statusPageId: z.uuid().describe('A page created with `version: 3`; cannot be changed later'),
      ...fields,
    })
    .meta({ id: 'AutomationRuleInput' }),
);
export type AutomationRuleInput = z.output<typeof AutomationRuleInput.schema>;
export const AutomationRulePatch = patchOf({
  statusPageId: z.uuid().describe('The page of the rule'),
  ...fields,
}).meta({ id: 'AutomationRulePatch' });

/** Which failing checks open incidents on a status page. */
export const AutomationRule = lazySchema(() =>
  z
    .object({
      id: z.string(),
      ...ManagedFields,
      statusPageId: z.string(),
      name: z.string(),
      enabled: z.boolean(),
      firstUpdate: z.string(),
      lastUpdate: z.string(),
      notifySubscribers: z.boolean(),
      tags: z.array(z.string()),
      coolDownWindowMinutes: z.int(),
      components: z.array(z.object({ componentId: z.string(), targetImpact: ComponentImpact.schema })),
      created_at: z.iso.datetime(),
      updated_at: z.iso.datetime().nullable(),
    })
    .meta({ id: 'AutomationRule' }),
);
export type AutomationRule = z.output<typeof AutomationRule.schema>;
const base = '/v1/status-pages/automation-rules';
const params = z.object({ automationRuleId: z.uuid() });

export const automationRuleRoutes = defineRoutes('Status pages', 'account', {
  listAutomationRules: {
    method: 'GET',
    path: base,
    summary: 'Rules by which failing checks open incidents on status pages, newest first',
    query: lazySchema(() =>
      z.object({
        ...CursorPaging,
        statusPageId: z.uuid().optional().describe('Only rules of this page'),
      }),
    ),
    response: lazySchema(() => cursorPage(AutomationRule.schema)),
  },
  createAutomationRule: {
    method: 'POST',
    path: base,
    otherErrors: [404],
    summary: 'Create a rule: checks with certain tags open and resolve incidents on a status page',
    body: AutomationRuleInput,
    success: created,
    response: AutomationRule,
  },
  getAutomationRule: {
    method: 'GET',
    path: `${base}/{automationRuleId}`,
    summary: 'One rule of a status page',
    params,
    response: AutomationRule,
  },
  updateAutomationRule: {
    method: 'PUT',
    path: `${base}/{automationRuleId}`,
    otherErrors: [404],
    summary: 'Change a rule; absent fields keep their value, components are replaced as a whole',
    params,
    body: AutomationRulePatch,
    response: AutomationRule,
  },
  deleteAutomationRule: {
    method: 'DELETE',
    path: `${base}/{automationRuleId}`,
    summary: 'Delete a rule; an incident that it opened is still resolved when its checks recover',
    params,
  },
});
