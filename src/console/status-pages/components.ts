import { AppError } from '@picket/lib/errors.ts';
import type { AutomationRule } from '@picket/protocol/pages/automation-rule.ts';
import { automationRuleRoutes } from '@picket/protocol/pages/automation-rule.ts';
import type { StatusPage } from '@picket/protocol/pages/status-page.ts';
import { statusPageRoutes } from '@picket/protocol/pages/status-page.ts';
import {
  type StatusPageComponent,
  StatusPageComponentInput,
  statusPageComponentRoutes,
} from '@picket/protocol/pages/status-page-component.ts';
import { csrfField, selectField } from '../elements/form.ts';
import { counted, shortened } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { table } from '../elements/table.ts';
import { section, visible } from '../elements/text.ts';
import { actionButton, confirmed, problemNotice } from '../forms/action.ts';
import { Form } from '../forms/form.ts';
import { attempt, type Problems } from '../forms/problems.ts';
import type { Words } from '../forms/view.ts';
import { type Html, html, path } from '../html.ts';
import { inOrder, type OrderedComponent } from '../incidents/components.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';

const {
  createStatusPageComponent,
  deleteStatusPageComponent,
  getStatusPageComponent,
  listStatusPageComponents,
  updateStatusPageComponent,
} = statusPageComponentRoutes;

const words: Words = {
  name: { label: 'Name' },
  description: { lines: 2, hint: 'Shown below the name.' },
  hidden: {
    label: 'Hidden',
    hint: 'The page hides it and its components. Incidents and rules can still use it.',
  },
  configuration: { label: 'On the page' },
  'configuration.showHistoricalData': { label: 'Show its days and uptime', hint: '' },
  'configuration.expandedByDefault': { label: 'Show its components expanded', hint: 'Groups only.' },
};
const fields = StatusPageComponentInput.schema.pick({
  name: true,
  description: true,
  hidden: true,
  configuration: true,
});
const form = new Form(fields, words);
/** A service contains no components to expand. */
const serviceForm = new Form(fields, { ...words, 'configuration.expandedByDefault': { isHidden: true } });

/** Returns every component of a page, groups before their members, with its nesting depth. */
export async function componentsOf(
  { api }: Pick<PageCall, 'api'>,
  statusPageId: string,
): Promise<OrderedComponent[]> {
  const all: StatusPageComponent[] = [];
  for (let nextId: string | null | undefined; nextId !== null; ) {
    const query = { statusPageId, limit: 100, ...(nextId === undefined ? {} : { nextId }) };
    const page = await api.call(listStatusPageComponents, { query });
    all.push(...page.entries);
    nextId = page.nextId;
  }
  return inOrder(all);
}

/** Shows the components and the rules of a page, below its form. */
export async function componentSections(call: PageCall, page: StatusPage): Promise<Html> {
  const components = await componentsOf(call, page.id);
  const here = path`/pages/status/${page.id}`;
  const rules: AutomationRule[] = (
    await call.api.call(automationRuleRoutes.listAutomationRules, {
      query: { statusPageId: page.id, limit: 100 },
    })
  ).entries;
  return html`${section(
    'Components',
    html`<p class="hint">The page shows these components in this order.</p>
${table({
  caption: 'Components in their order',
  rows: components,
  empty: 'No components yet. Add a component, or a group for several.',
  columns: [
    {
      title: 'Component',
      cell: ({ id, name, level }) =>
        html`${'— '.repeat(level)}<a href="${`${here}/components/${id}`}">${visible(shortened(name, 80))}</a>`,
    },
    { title: 'Kind', cell: ({ type }) => (type === 'GROUP' ? 'Group' : 'Service') },
    {
      title: 'On the page',
      cell: ({ hidden }) => (hidden ? stateBadge('off', 'Hidden') : stateBadge('passed', 'Shown')),
    },
    {
      title: 'Order',
      cell: ({ id, name, parentId }) => {
        const level = components.filter((one) => one.parentId === parentId);
        const about = visible(shortened(name, 80));
        const move = (to: 'up' | 'down', word: string) =>
          actionButton({
            to: `${here}/components/${id}/${to}`,
            word,
            about: `${about} ${to}`,
            viewer: call.viewer,
          });
        return html`<div class="row-actions">${level[0]?.id === id ? '' : move('up', '↑')}${level.at(-1)?.id === id ? '' : move('down', '↓')}</div>`;
      },
    },
  ],
})}
<div class="actions"><a class="button" href="${here}/components/new">Add a component</a></div>`,
  )}
${section(
  'Automation rules',
  html`<p class="hint">Checks with certain tags open incidents on this page when they fail, and resolve them when they recover.</p>
${table({
  caption: 'Automation rules, newest first',
  rows: rules,
  empty: 'No rules: people publish incidents.',
  columns: [
    {
      title: 'Rule',
      cell: ({ id, name }) => html`<a href="${`${here}/rules/${id}`}">${visible(shortened(name, 80))}</a>`,
    },
    {
      title: 'State',
      cell: ({ enabled }) => (enabled ? stateBadge('passed', 'On') : stateBadge('off', 'Off')),
    },
    { title: 'Tags', cell: ({ tags }) => visible(shortened(tags.join(', '), 80)) },
    { title: 'Components', cell: (rule) => counted(rule.components.length, 'component') },
  ],
})}
${components.length === 0 ? '' : html`<div class="actions"><a class="button" href="${here}/rules/new">Add a rule</a></div>`}`,
)}`;
}

interface Shown {
  readonly values?: URLSearchParams;
  readonly problems?: Problems;
}

/** Shows the form of a new or stored component. */
export async function componentEditor(call: PageCall, shown: Shown = {}): Promise<View> {
  const { api, params, viewer } = call;
  const page = await componentPage(call);
  const componentId = params['component'];
  const stored =
    componentId === undefined
      ? undefined
      : await api.call(getStatusPageComponent, { params: { componentId } });
  const all = await componentsOf(call, page.id);
  const values = shown.values ?? (stored ? form.values(stored) : form.defaults());
  const { problems } = shown;
  const home = path`/pages/status/${page.id}`;
  const here = stored ? `${home}/components/${stored.id}` : `${home}/components/new`;
  const title = stored ? visible(shortened(stored.name, 80)) : 'New component';
  const groups = all
    .filter(({ type, id }) => type === 'GROUP' && id !== componentId)
    .map(({ id, name, level }) => ({
      value: id,
      word: `${'— '.repeat(level)}${visible(shortened(name, 60))}`,
    }));
  const main = html`<nav class="crumbs"><a href="/pages/status">Status pages</a> / <a href="${home}">${visible(shortened(page.name, 60))}</a></nav>${heading(
    title,
    stored
      ? confirmed({
          to: `${here}/delete`,
          word: 'Delete…',
          confirmWord: 'Delete the component',
          question: 'It is removed from incidents and rules. Components of a group take its place.',
          viewer,
        })
      : '',
  )}${problemNotice(problems)}<form class="form" method="post" action="${here}">${csrfField(viewer)}
${
  stored
    ? html`<input type="hidden" name="type" value="${stored.type}">`
    : selectField({
        name: 'type',
        label: 'Kind',
        value: values.get('type') ?? 'SERVICE',
        hint: 'A service has its own state; a group contains components.',
        choices: [
          { value: 'SERVICE', word: 'Service' },
          { value: 'GROUP', word: 'Group' },
        ],
        error: problems?.fields.get('type'),
      })
}${selectField({
  name: 'parentId',
  label: 'In the group',
  value: values.get('parentId') ?? stored?.parentId ?? '',
  choices: [{ value: '', word: 'None' }, ...groups],
  error: problems?.fields.get('parentId') ?? problems?.fields.get('statusPageId'),
})}
${(stored?.type === 'SERVICE' ? serviceForm : form).view({ values, problems })}
<div class="actions"><button class="button primary" type="submit">${stored ? 'Save' : 'Add component'}</button><a class="button" href="${home}">Cancel</a></div></form>`;
  return { title, main, ...(problems ? { statusCode: problems.statusCode } : {}) };
}

export async function saveComponent(call: PageCall): Promise<PageAnswer> {
  const { api, form: sent, params } = call;
  const statusPageId = params['id'] ?? '';
  const componentId = params['component'];
  const body = {
    ...form.object(sent),
    parentId: sent.get('parentId') || null,
  } as never;
  const { problems } = await attempt(async () => {
    if (componentId !== undefined) {
      return api.call(updateStatusPageComponent, { params: { componentId }, body });
    }
    const last = Math.max(-1, ...(await componentsOf(call, statusPageId)).map((one) => one.displayOrder));
    const place = { statusPageId, type: sent.get('type') ?? 'SERVICE', displayOrder: last + 1 };
    return api.call(createStatusPageComponent, { body: { ...(body as object), ...place } as never });
  });
  if (problems) return componentEditor(call, { values: sent, problems });
  return { goTo: path`/pages/status/${statusPageId}`, toast: 'Component saved.' };
}

/** Moves a component by one place among its siblings. */
export async function moveComponent(call: PageCall, by: -1 | 1): Promise<PageAnswer> {
  const { id: statusPageId = '', component: componentId } = call.params;
  const all = await componentsOf(call, statusPageId);
  const moved = all.find(({ id }) => id === componentId);
  const order = all.filter(({ parentId }) => moved && parentId === moved.parentId);
  const place = order.findIndex(({ id }) => id === componentId);
  const other = order[place + by];
  if (moved && other) {
    order[place] = other;
    order[place + by] = moved;
    for (const [displayOrder, { id, displayOrder: before }] of order.entries()) {
      if (displayOrder === before) continue;
      await call.api.call(updateStatusPageComponent, { params: { componentId: id }, body: { displayOrder } });
    }
  }
  return { goTo: path`/pages/status/${statusPageId}` };
}

/**
 * Returns the page of components and rules.
 *
 * @throws AppError NOT_FOUND also for a page of cards.
 */
export async function componentPage({ api, params }: PageCall): Promise<StatusPage> {
  const { id: statusPageId = '' } = params;
  const page = await api.call(statusPageRoutes.getStatusPage, { params: { statusPageId } });
  if (page.version !== 3) throw new AppError('NOT_FOUND', 'The page has cards, not components.');
  return page;
}

export async function deleteComponent({ api, params }: PageCall): Promise<PageAnswer> {
  await api.call(deleteStatusPageComponent, { params: { componentId: params['component'] ?? '' } });
  return { goTo: path`/pages/status/${params['id'] ?? ''}`, toast: 'Component deleted.' };
}
