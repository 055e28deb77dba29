import { csrfField } from '../elements/form.ts';
import { notice } from '../forms/action.ts';
import type { Problems } from '../forms/problems.ts';
import { type FormView, firstLevelView, sectionView, type Words } from '../forms/view.ts';
import { type Content, type Html, html } from '../html.ts';
import type { PageCall } from '../page.ts';
import type { Choices } from './parts/choices.ts';
import { madeName, nameSource } from './parts/completed.ts';
import { summaryOf } from './parts/summary.ts';
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
  /** Content above the fields. */
  readonly atTop?: Content;
  /** Content next to the fields: the test run and its result. */
  readonly aside?: Content;
}

/**
 * Shows a form of two levels: what is needed, and folded topics. Its first button saves, also on Enter; others change
 * the form without saving.
 */
export function formPage(call: PageCall, form: ShownForm): Html {
  const { plan, problems, to } = form;
  const view: FormView = {
    layout: withWords(form),
    values: form.values,
    problems,
    isLong: true,
    hidden: form.hidden ?? new Set(),
    notes: form.notes,
    partial: partialAttributes(to),
  };
  const changed = changedField(call.form);
  const [first, ...others] = plan.sections;
  return html`${problemSummary(problems, plan)}<form class="form editor" method="post" action="${to}">${csrfField(call.viewer)}${form.fields ?? ''}
<button class="hidden" type="submit" name="$do" value="save" tabindex="-1" aria-hidden="true">${form.saveWord}</button>
<div class="editor-main">${form.atTop ?? ''}<div class="group">${first ? firstLevelView(first.fields, view) : ''}</div>
<h2 class="more">More</h2><div class="topics">${others.map((section) => topic(section, view, changed))}</div>
<div class="actions save"><button class="button primary" type="submit" name="$do" value="save">${form.saveWord}</button><a class="button" href="${form.cancelTo}">Cancel</a></div></div>${form.aside ? html`<div class="editor-aside">${form.aside}</div>` : ''}</form>`;
}

/** Adds what this form offers, and the name that an empty one becomes. */
function withWords({ plan, choices, values }: ShownForm): Words {
  const { layout } = plan;
  const chosen = [...choices].map(([pattern, known]) => [pattern, { ...layout[pattern], ...known }]);
  const source = nameSource(plan);
  const name = source && {
    ...layout['name'],
    placeholder: madeName(plan, values) || 'Made from the field above',
    attributes: html` data-name-after="field-${source.pattern.replaceAll(/\W/g, '-')}" data-name-source="${source.names ?? ''}"`,
  };
  const schemes = Object.entries(layout).flatMap(([pattern, own]) =>
    own.scheme === undefined
      ? []
      : [[pattern, { ...own, attributes: html` inputmode="url" data-scheme="${own.scheme}"` }]],
  );
  return {
    ...layout,
    ...Object.fromEntries(chosen),
    ...Object.fromEntries(schemes),
    ...(name ? { name } : {}),
  };
}

/** Returns the field that a button of the form has changed. */
function changedField(form: URLSearchParams): string {
  const [verb = '', name = ''] = (form.get('$do') ?? '').split(' ');
  return verb === 'assert' ? 'request.assertions' : name;
}

/** With scripts, changes to the form alone do not reload the page: inputs, focus and scroll position stay. */
export function partialAttributes(to: string): Html {
  return html` hx-post="${to}" hx-target="#main" hx-select="#main" hx-swap="outerMorph"`;
}

/** A folded part, with one line about what is set in it. It opens for problems and for its own buttons. */
function topic({ topic: name, title, fields }: Section, view: FormView, changed: string): Html {
  const isChanged = (pattern: string) => changed === pattern || changed.startsWith(`${pattern}.`);
  const isOpen = fields.some(
    ({ pattern }) => isWrong(pattern, view.problems) || (changed !== '' && isChanged(pattern)),
  );
  const set = summaryOf(fields, view);
  return html`<details class="topic" id="topic-${name}"${isOpen ? html` open` : ''}><summary><span class="topic-title">${title}</span> <span class="topic-set">${set === '' ? 'defaults' : set}</span></summary><div class="topic-body">${sectionView(fields, view)}</div></details>`;
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
