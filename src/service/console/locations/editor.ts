import {
  PrivateLocationInput,
  PrivateLocationPatch,
  privateLocationRoutes,
} from '../../../protocol/locations/private-location.ts';
import { csrfField } from '../elements/form.ts';
import { problemNotice } from '../forms/action.ts';
import { attempt, type Problems } from '../forms/problems.ts';
import { defaultsOf, objectOf, schemaFields, valuesOf, type Words } from '../forms/schema-form.ts';
import { html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { showLocation } from './location.ts';

const { createPrivateLocation, getPrivateLocation, updatePrivateLocation } = privateLocationRoutes;
const words: Words = {
  name: { hint: 'What people call it, such as "Office Berlin".' },
  slugName: {
    label: 'Short name',
    hint: 'What checks say. 1 to 30 letters, digits and dashes; it cannot change later.',
  },
  icon: { isLeftOut: true },
  proxyUrl: { label: 'Proxy' },
};
const wordsOfChange: Words = { ...words, slugName: { isLeftOut: true } };

export function newAnswer(
  { viewer }: PageCall,
  state: { values: URLSearchParams; problems?: Problems } = { values: defaultsOf(PrivateLocationInput) },
): View {
  const { problems } = state;
  const main = html`<nav class="crumbs"><a href="/locations">Locations</a></nav>${heading('New location')}
${problemNotice(problems)}<form class="form" method="post" action="/locations/new">${csrfField(viewer)}
${schemaFields(PrivateLocationInput, { ...state, words })}
<div class="actions"><button class="button primary" type="submit">Create it, and its first key</button><a class="button" href="/locations">Cancel</a></div></form>`;
  return { main, ...(problems ? { statusCode: problems.statusCode } : {}) };
}

export async function saveNew(call: PageCall): Promise<PageAnswer> {
  const body = objectOf(PrivateLocationInput, call.form, { words });
  const { done, problems } = await attempt(() =>
    call.api.call(createPrivateLocation, { body: body as { name: string; slugName: string } }),
  );
  if (problems) return newAnswer(call, { values: call.form, problems });
  return showLocation({ ...call, params: { id: done.id } }, { newKey: done.keys[0]?.rawKey ?? '' });
}

export async function editAnswer(
  call: PageCall,
  state?: { readonly values: URLSearchParams; readonly problems: Problems },
): Promise<View> {
  const { id = '' } = call.params;
  const location = await call.api.call(getPrivateLocation, { params: { id } });
  const { problems, values = valuesOf(location) } = state ?? {};
  const here = path`/locations/${id}`;
  const main = html`<nav class="crumbs"><a href="/locations">Locations</a> / <a href="${here}">${location.name}</a></nav>${heading(`Edit ${location.name}`)}
${problemNotice(problems)}<form class="form" method="post" action="${here}/edit">${csrfField(call.viewer)}
${schemaFields(PrivateLocationPatch, { values, problems, words: wordsOfChange })}
<div class="actions"><button class="button primary" type="submit">Save</button><a class="button" href="${here}">Cancel</a></div></form>`;
  return { title: `Edit ${location.name}`, main, ...(problems ? { statusCode: problems.statusCode } : {}) };
}

export async function saveChanges(call: PageCall): Promise<PageAnswer> {
  const { id = '' } = call.params;
  // A name that was emptied is refused, not left as it was.
  const body = {
    ...objectOf(PrivateLocationPatch, call.form, { words: wordsOfChange }),
    name: call.form.get('name') ?? '',
  };
  const { problems } = await attempt(() => call.api.call(updatePrivateLocation, { params: { id }, body }));
  return problems ? editAnswer(call, { values: call.form, problems }) : { goTo: path`/locations/${id}` };
}
