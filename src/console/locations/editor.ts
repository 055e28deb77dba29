import { checkTypes } from '@picket/checks/index.ts';
import {
  PrivateLocationInput,
  PrivateLocationPatch,
  privateLocationRoutes,
} from '@picket/protocol/locations/private-location.ts';
import { csrfField } from '../elements/form.ts';
import { problemNotice } from '../forms/action.ts';
import { Form } from '../forms/form.ts';
import { attempt, type Problems } from '../forms/problems.ts';
import type { Words } from '../forms/view.ts';
import { html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { showLocation } from './location.ts';

const { createPrivateLocation, getPrivateLocation, updatePrivateLocation } = privateLocationRoutes;
const words: Words = {
  name: { hint: 'Shown in lists and alerts, such as "Office Berlin".' },
  slugName: {
    label: 'Short name',
    hint: 'Used in check definitions. 1 to 30 letters, digits and dashes. It cannot be changed later.',
  },
  icon: { isHidden: true },
  proxyUrl: { label: 'Proxy' },
  agentSettings: {
    label: 'Agents',
    isFolded: true,
    hint: 'Asked of all its agents; each applies them within its own environment. Agents older than these settings ignore them.',
  },
  'agentSettings.checkTypes': {
    label: 'Check types',
    hint: 'None chosen: all that the agents offer.',
    choices: checkTypes.flatMap(({ name, title, load }) =>
      load === undefined ? [] : [{ value: name, word: title }],
    ),
  },
  'agentSettings.probeConcurrency': {
    label: 'Probe checks at the same time',
    hint: 'Up to PROBE_CONCURRENCY of each agent.',
  },
  'agentSettings.scriptConcurrency': {
    label: 'Script checks at the same time',
    hint: 'Up to JOB_CONCURRENCY of each agent.',
  },
  'agentSettings.logLevel': {
    label: 'Log level',
    hint: 'Can make the log of an agent shorter than its LOG_LEVEL, never longer.',
  },
  'agentSettings.isDraining': {
    label: 'Drain the agents',
    hint: 'They finish what they run, take nothing new, and stay connected. Due runs wait, and are missed when they are no longer fresh.',
  },
};
const newForm = new Form(PrivateLocationInput, words);
const changeForm = new Form(PrivateLocationPatch, { ...words, slugName: { isHidden: true } });

export function newAnswer(
  { viewer }: PageCall,
  state: { values: URLSearchParams; problems?: Problems } = { values: newForm.defaults() },
): View {
  const { problems } = state;
  const main = html`<nav class="crumbs"><a href="/locations">Locations</a></nav>${heading('New location')}
${problemNotice(problems)}<form class="form" method="post" action="/locations/new">${csrfField(viewer)}
${newForm.view(state)}
<div class="actions"><button class="button primary" type="submit">Create location and first key</button><a class="button" href="/locations">Cancel</a></div></form>`;
  return { main, ...(problems ? { statusCode: problems.statusCode } : {}) };
}

export async function saveNew(call: PageCall): Promise<PageAnswer> {
  const body = newForm.object(call.form);
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
  const { problems, values = changeForm.values(location) } = state ?? {};
  const here = path`/locations/${id}`;
  const main = html`<nav class="crumbs"><a href="/locations">Locations</a> / <a href="${here}">${location.name}</a></nav>${heading(`Edit ${location.name}`)}
${problemNotice(problems)}<form class="form" method="post" action="${here}/edit">${csrfField(call.viewer)}
${changeForm.view({ values, problems })}
<div class="actions"><button class="button primary" type="submit">Save</button><a class="button" href="${here}">Cancel</a></div></form>`;
  return { title: `Edit ${location.name}`, main, ...(problems ? { statusCode: problems.statusCode } : {}) };
}

export async function saveChanges(call: PageCall): Promise<PageAnswer> {
  const { id = '' } = call.params;
  // An emptied name is refused rather than ignored.
  const body = {
    // A form without any of these inputs asks nothing of agents.
    agentSettings: {},
    ...changeForm.object(call.form),
    name: call.form.get('name') ?? '',
  };
  const { problems } = await attempt(() => call.api.call(updatePrivateLocation, { params: { id }, body }));
  return problems ? editAnswer(call, { values: call.form, problems }) : { goTo: path`/locations/${id}` };
}
