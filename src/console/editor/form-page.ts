import { csrfField } from '../elements/form.ts';
import { notice } from '../forms/action.ts';
import type { Problems } from '../forms/problems.ts';
import { type FormView, sectionView, type Words } from '../forms/view.ts';
import { type Content, type Html, html } from '../html.ts';
import type { PageCall } from '../page.ts';
import type { Choices } from './choices.ts';
import type { FormPlan, Section } from './sections.ts';

export interface ShownForm {
  readonly to: string;
  readonly plan: FormPlan;
  readonly values: URLSearchParams;
  readonly choices: Choices;
  readonly hidden?: ReadonlySet<string>;
  /** Notes on hidden values, by field name. */
  readonly notes?: ReadonlyMap<string, string>;
  readonly problems?: Problems | undefined;
  /** Additional hidden inputs of the form. */
  readonly fields?: Content;
  readonly saveWord: string;
  readonly cancelTo: string;
  /** Content above the sections. */
  readonly atTop?: Content;
  /** Content next to the sections: the test run and its result. */
  readonly aside?: Content;
}

/** Shows a form in sections. Its first button saves, also on Enter; others change the form without saving. */
export function formPage(call: PageCall, form: ShownForm): Html {
  const { plan, problems, to } = form;
  const view: FormView = {
    layout: withChoices(plan.layout, form.choices),
    values: form.values,
    problems,
    isLong: true,
    hidden: form.hidden ?? new Set(),
    notes: form.notes,
    partial: partialAttributes(to),
  };
  return html`${problemSummary(problems, plan)}<form class="form editor" method="post" action="${to}">${csrfField(call.viewer)}${form.fields ?? ''}
<button class="hidden" type="submit" name="$do" value="save" tabindex="-1" aria-hidden="true">${form.saveWord}</button>
<div class="editor-main">${form.atTop ?? ''}${plan.sections.map((section) => sectionHtml(section, view))}
<div class="actions"><button class="button primary" type="submit" name="$do" value="save">${form.saveWord}</button><a class="button" href="${form.cancelTo}">Cancel</a></div></div>${form.aside ? html`<div class="editor-aside">${form.aside}</div>` : ''}</form>`;
}

function withChoices(layout: FormPlan['layout'], choices: Choices): Words {
  const chosen = [...choices].map(([pattern, known]) => [pattern, { ...layout[pattern], choices: known }]);
  return { ...layout, ...Object.fromEntries(chosen) };
}

/** With scripts, changes to the form alone do not reload the page: inputs, focus and scroll position stay. */
export function partialAttributes(to: string): Html {
  return html` hx-post="${to}" hx-target="#main" hx-select="#main" hx-swap="outerMorph"`;
}

function sectionHtml({ title, fields, isFolded }: Section, view: FormView): Html {
  const content = sectionView(fields, view);
  if (!isFolded) return html`<fieldset class="group"><legend>${title}</legend>${content}</fieldset>`;
  const isOpen = fields.some((field) => isWrong(field.pattern, view.problems));
  return html`<details class="group folded"${isOpen ? html` open` : ''}><summary>${title}</summary>${content}</details>`;
}

function isWrong(name: string, problems: Problems | undefined): boolean {
  return [...(problems?.fields.keys() ?? [])].some((key) => key === name || key.startsWith(`${name}.`));
}

/** Lists all problems with links to their fields. */
function problemSummary(problems: Problems | undefined, { layout }: FormPlan): Html | '' {
  if (!problems) return '';
  const ofForm: Readonly<Record<string, string>> = { $tryAt: 'Test run', $curl: 'Command' };
  const labelOf = (path: string) => {
    if (ofForm[path]) return ofForm[path];
    const pattern = path.replaceAll(/\.\d+(?=\.|$)/g, '.*');
    return layout[pattern]?.label ?? layout[pattern.replace(/\.\*$/, '')]?.label ?? path;
  };
  const list = [...problems.fields].map(
    ([path, said]) =>
      html`<li><a href="#field-${path === '$curl' ? 'curl' : path.replaceAll(/\W/g, '-')}">${labelOf(path)}</a>: ${said}</li>`,
  );
  return notice(
    html`<p>Nothing was saved.${problems.message === '' ? '' : html` ${problems.message}`}</p>${list.length === 0 ? '' : html`<ul>${list}</ul>`}`,
    'refused',
  );
}
