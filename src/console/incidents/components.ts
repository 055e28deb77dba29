import {
  type ComponentImpact,
  componentImpacts,
  type StatusPageComponent,
  statusPageComponentRoutes,
} from '@picket/protocol/pages/status-page-component.ts';
import { selectField } from '../elements/form.ts';
import { shortened } from '../elements/format.ts';
import { visible } from '../elements/text.ts';
import type { Problems } from '../forms/problems.ts';
import { type Content, type Html, html } from '../html.ts';
import type { PageCall } from '../page.ts';
import { impactWord } from '../public/components/component-view.ts';

const prefix = 'impact.';
/** A form with more choices would be unusable; the API accepts all. */
const mostShown = 300;

const impactChoices = [
  { value: '', word: 'Not affected' },
  ...componentImpacts.map((value) => ({ value, word: impactWord(value) })),
];

/** A component and its nesting depth. */
export type OrderedComponent = StatusPageComponent & { readonly level: number };

/** Sorts components of a page, groups before their members; a component whose group is missing is top-level. */
export function inOrder(components: readonly StatusPageComponent[]): OrderedComponent[] {
  const ordered = components.toSorted(
    (one, other) => one.displayOrder - other.displayOrder || one.created_at.localeCompare(other.created_at),
  );
  const ids = new Set(components.map(({ id }) => id));
  const children = Map.groupBy(ordered, ({ parentId }) =>
    parentId !== null && ids.has(parentId) ? parentId : null,
  );
  const from = (parentId: string | null, level: number): OrderedComponent[] =>
    (children.get(parentId) ?? []).flatMap((one) => [{ ...one, level }, ...from(one.id, level + 1)]);
  return from(null, 0);
}

/** Fields for the impact of an incident on each component of the account's pages. */
export async function componentFields(
  { api, store, viewer }: PageCall,
  values: URLSearchParams,
  problems?: Problems,
): Promise<Content> {
  const all: StatusPageComponent[] = [];
  for (let nextId: string | null | undefined; nextId !== null && all.length < mostShown; ) {
    const query = { limit: 100, ...(nextId === undefined ? {} : { nextId }) };
    const list = await api.call(statusPageComponentRoutes.listStatusPageComponents, { query });
    all.push(...list.entries);
    nextId = list.nextId;
  }
  if (all.length === 0) return '';
  const shown = new Set(all.map(({ id }) => id));
  const pages = new Map(
    (await store.statusPages.findMany(viewer.accountId)).map(({ id, name }) => [id, name]),
  );
  const isChosen = [...values].some(([name, value]) => name.startsWith(prefix) && value !== '');
  const wrong = [...(problems?.fields ?? [])].find(([name]) => name.startsWith('components'))?.[1];
  return html`<details${isChosen || wrong ? html` open` : ''}><summary>Components of status pages</summary>
${wrong === undefined ? '' : html`<p class="error">${wrong}</p>`}${[
  ...Map.groupBy(all, ({ statusPageId }) => statusPageId),
].map(
  ([pageId, components]) =>
    html`<fieldset class="group"><legend>${visible(shortened(pages.get(pageId) ?? '', 60))}</legend>${inOrder(
      components,
    ).map((one) => impactField(one, values))}</fieldset>`,
)}${impactsOf(values)
  .filter(({ componentId }) => !shown.has(componentId))
  .map(
    ({ componentId, impact }) => html`<input type="hidden" name="${prefix}${componentId}" value="${impact}">`,
  )}</details>`;
}

/** Field for the impact on a component while an incident is open. */
export function impactField({ id, name, level }: OrderedComponent, values: URLSearchParams): Html {
  return selectField({
    name: `${prefix}${id}`,
    label: `${'— '.repeat(level)}${visible(shortened(name, 80))}`,
    value: values.get(`${prefix}${id}`) ?? '',
    choices: impactChoices,
  });
}

/** Returns the affected components of a form. */
export function impactsOf(form: URLSearchParams): { componentId: string; impact: ComponentImpact }[] {
  return [...form].flatMap(([name, impact]) =>
    name.startsWith(prefix) && impact !== ''
      ? [{ componentId: name.slice(prefix.length), impact: impact as ComponentImpact }]
      : [],
  );
}

/** Returns the same as form fields. */
export function impactFields(
  components: readonly { readonly id: string; readonly impact: string }[],
): [string, string][] {
  return components.map(({ id, impact }) => [`${prefix}${id}`, impact]);
}
