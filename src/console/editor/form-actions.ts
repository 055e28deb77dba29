import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { checkTypes } from '@picket/checks/index.ts';
import { z } from 'zod';
import { selectField } from '../elements/form.ts';
import type { Problems } from '../forms/problems.ts';
import { type Content, type Html, html } from '../html.ts';
import type { PageCall } from '../page.ts';
import { parseCurl } from './curl/curl-command.ts';
import { type Draft, draftOf, withAssertion, withRows } from './draft.ts';
import type { FormPlan } from './sections.ts';
import type { Entry } from './stored.ts';
import { startTry } from './tryout.ts';

/** A form after a button that saves nothing. */
export interface ChangedForm {
  readonly draft: Draft;
  readonly problems?: Problems | undefined;
  readonly said?: Content;
  /** The session of the last test run. */
  readonly tried?: string | undefined;
}

/** Applies a button of the form; undefined for the one that saves. */
export async function changeForm(
  call: PageCall,
  type: CheckType,
  { plan, draft, checkId }: { readonly plan: FormPlan; readonly draft: Draft; readonly checkId?: string },
): Promise<ChangedForm | undefined> {
  const { form } = call;
  const action = form.get('$do') ?? 'save';
  const tried = form.get('$try') || undefined;
  if (action === 'save') return undefined;
  if (action === 'try') {
    const { definition } = draft;
    const { sessionId = tried, problems } = await startTry(call, type, { definition, checkId });
    return { draft, problems, tried: sessionId };
  }
  if (action === 'curl') return { ...withCurl(draft, plan, form.get('$curl') ?? ''), tried };
  if (action === 'template') return { ...withTemplate(draft, type, form.get('$template') ?? ''), tried };
  if (action.startsWith('assert ')) {
    return {
      draft: { ...draft, values: withAssertion(draft.values, action.slice('assert '.length)) },
      tried,
    };
  }
  return { draft: { ...draft, values: withRows(draft.values, action) }, tried };
}

/** Replaces the request of a draft by that of a curl command; keeps assertions and all other fields. */
function withCurl(draft: Draft, plan: FormPlan, text: string): ChangedForm {
  const { request, notes, problem } = parseCurl(text);
  if (!request) {
    return { draft, problems: { statusCode: 422, message: '', fields: new Map([['$curl', problem]]) } };
  }
  const before = draft.definition['request'];
  const definition = {
    ...draft.definition,
    name: draft.definition['name'] || (URL.parse(request.url)?.host ?? ''),
    request: { ...(typeof before === 'object' ? before : {}), ...request, queryParameters: [] },
  };
  const said = html`<p>The form was filled in from the command.</p>${notes.length === 0 ? '' : html`<ul>${notes.map((note) => html`<li>${note}</li>`)}</ul>`}`;
  return { draft: draftOf(plan.fields, definition), said };
}

/** Fills a draft from a template, unless that would replace something typed. */
function withTemplate(draft: Draft, { templates = [] }: CheckType, title: string): ChangedForm {
  const fields = Object.entries(templates.find((one) => one.title === title)?.fields ?? {});
  const isTyped = ([name]: readonly [string, string]) => {
    const value = plain(draft.values.get(name) ?? '');
    return value !== '' && !templates.some((one) => plain(one.fields[name] ?? '') === value);
  };
  if (fields.some(isTyped)) {
    return {
      draft,
      said: 'The template was not used: it would replace what you typed. Empty the field first.',
    };
  }
  const values = new URLSearchParams(draft.values);
  for (const [name, value] of fields) values.set(name, value);
  return { draft: { ...draft, values } };
}

function plain(text: string): string {
  return text.replaceAll('\r\n', '\n').trim();
}

/** The choice of a template for a new check. */
export function templateBox({ templates }: CheckType, form: URLSearchParams, partial: Content): Html | '' {
  if (!templates) return '';
  const none = { value: '', word: '–' };
  const choices = [none, ...templates.map(({ title }) => ({ value: title, word: title }))];
  const field = selectField({
    name: '$template',
    label: 'Start from a template',
    value: form.get('$template') ?? '',
    choices,
  });
  return html`<div class="templates">${field}<button class="button" type="submit" name="$do" value="template" formnovalidate${partial}>Use it</button></div>`;
}

/** Whether a type has all fields that a curl command may set. */
export function takesCurl(type: CheckType): boolean {
  const { request } = type.spec.shape;
  return (
    request instanceof z.ZodObject &&
    ['method', 'url', 'headers', 'bodyType', 'auth'].every((key) => key in request.shape)
  );
}

/** Returns the check type to create from a curl command. */
export function curlType(): CheckType | undefined {
  return checkTypes.find(takesCurl);
}

/** The input for a pasted command. */
export function curlBox(
  form: Entry | URLSearchParams,
  problems: Problems | undefined,
  partial: Content,
): Html {
  const text = form instanceof URLSearchParams ? (form.get('$curl') ?? '') : '';
  const error = problems?.fields.get('$curl');
  return html`<details class="group folded"${error ? html` open` : ''}><summary>Paste a curl command</summary><div class="field code${error ? ' field-wrong' : ''}"><label for="field-curl">Command, as copied from a terminal or from the network panel of a browser</label>
<textarea id="field-curl" name="$curl" rows="4" spellcheck="false"${error ? html` aria-invalid="true" aria-describedby="field-curl-error"` : ''}>
${text}</textarea>${error ? html`<p class="error" id="field-curl-error">${error}</p>` : ''}</div><button class="button" type="submit" name="$do" value="curl" formnovalidate${partial}>Fill in the form</button></details>`;
}
