import {
  type AutomationRule,
  AutomationRuleInput,
  automationRuleRoutes,
} from '@picket/protocol/pages/automation-rule.ts';
import { csrfField } from '../elements/form.ts';
import { shortened } from '../elements/format.ts';
import { visible } from '../elements/text.ts';
import { confirmed, problemNotice } from '../forms/action.ts';
import { Form } from '../forms/form.ts';
import { attempt, type Problems } from '../forms/problems.ts';
import type { Words } from '../forms/view.ts';
import { html, path } from '../html.ts';
import { impactField, impactFields, impactsOf } from '../incidents/components.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { componentPage, componentsOf } from './components.ts';

const { createAutomationRule, deleteAutomationRule, getAutomationRule, updateAutomationRule } =
  automationRuleRoutes;

const words: Words = {
  name: { label: 'Name', hint: 'Title of its incidents.' },
  enabled: { label: 'On', hint: 'If off, the rule opens no incidents. It still resolves open ones.' },
  tags: {
    label: 'Tags of checks',
    hint: 'One per line. Checks with any of these tags, their own or of their group.',
  },
  firstUpdate: { label: 'Message on failure', lines: 3, hint: 'The first update of the incident.' },
  lastUpdate: {
    label: 'Message on recovery',
    lines: 3,
    hint: 'The update that resolves it.',
  },
  notifySubscribers: { label: 'Mail both to subscribers', hint: '' },
  coolDownWindowMinutes: {
    label: 'Minutes between incidents',
    hint: 'Pause after an incident ends. Checks that still fail after it open the next one.',
  },
};
const form = new Form(AutomationRuleInput.schema.omit({ statusPageId: true, components: true }), words);

interface Shown {
  readonly values?: URLSearchParams;
  readonly problems?: Problems;
}

/** Shows the form of a new or stored rule. */
export async function ruleEditor(call: PageCall, shown: Shown = {}): Promise<View> {
  const { api, params, viewer } = call;
  const page = await componentPage(call);
  const automationRuleId = params['rule'];
  const stored =
    automationRuleId === undefined
      ? undefined
      : await api.call(getAutomationRule, { params: { automationRuleId } });
  const values = shown.values ?? (stored ? valuesFrom(stored) : form.defaults());
  const { problems } = shown;
  const home = path`/pages/status/${page.id}`;
  const here = stored ? `${home}/rules/${stored.id}` : `${home}/rules/new`;
  const title = stored ? visible(shortened(stored.name, 80)) : 'New automation rule';
  const wrong = [...(problems?.fields ?? [])].find(([name]) => name.startsWith('components'))?.[1];
  const components = await componentsOf(call, page.id);
  const main = html`<nav class="crumbs"><a href="/pages/status">Status pages</a> / <a href="${home}">${visible(shortened(page.name, 60))}</a></nav>${heading(
    title,
    stored
      ? confirmed({
          to: `${here}/delete`,
          word: 'Delete…',
          confirmWord: 'Delete the rule',
          question: 'It opens no more incidents. An open incident is still resolved when its checks recover.',
          viewer,
        })
      : '',
  )}${problemNotice(problems)}<form class="form" method="post" action="${here}">${csrfField(viewer)}
${form.view({ values, problems })}
<fieldset class="group"><legend>Components</legend><p class="hint">State of each component while an incident of the rule is open.</p>${
    wrong === undefined ? '' : html`<p class="error">${wrong}</p>`
  }${components.map((one) => impactField(one, values))}</fieldset>
<div class="actions"><button class="button primary" type="submit">${stored ? 'Save' : 'Add the rule'}</button><a class="button" href="${home}">Cancel</a></div></form>`;
  return { title, main, ...(problems ? { statusCode: problems.statusCode } : {}) };
}

function valuesFrom({ components, ...rule }: AutomationRule): URLSearchParams {
  const impacts = components.map(({ componentId: id, targetImpact: impact }) => ({ id, impact }));
  return new URLSearchParams([...form.values(rule), ...impactFields(impacts)]);
}

export async function saveRule(call: PageCall): Promise<PageAnswer> {
  const { api, form: sent, params } = call;
  const statusPageId = params['id'] ?? '';
  const automationRuleId = params['rule'];
  const components = impactsOf(sent).map(({ componentId, impact }) => ({
    componentId,
    targetImpact: impact,
  }));
  const body = { ...form.object(sent), statusPageId, components } as never;
  const { problems } = await attempt(() =>
    automationRuleId === undefined
      ? api.call(createAutomationRule, { body })
      : api.call(updateAutomationRule, { params: { automationRuleId }, body }),
  );
  if (problems) return ruleEditor(call, { values: sent, problems });
  return { goTo: path`/pages/status/${statusPageId}`, toast: 'Rule saved.' };
}

export async function deleteRule({ api, params }: PageCall): Promise<PageAnswer> {
  await api.call(deleteAutomationRule, { params: { automationRuleId: params['rule'] ?? '' } });
  return { goTo: path`/pages/status/${params['id'] ?? ''}`, toast: 'Rule deleted.' };
}
