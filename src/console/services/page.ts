import { statusPageRoutes } from '@picket/protocol/pages/status-page.ts';
import { csrfField, textField } from '../elements/form.ts';
import { instant, shortened } from '../elements/format.ts';
import { table } from '../elements/table.ts';
import { statusTabs } from '../elements/tabs.ts';
import { visible } from '../elements/text.ts';
import { confirmed, problemNotice } from '../forms/action.ts';
import { attempt, type Problems } from '../forms/problems.ts';
import { type Html, html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { Page, PageAnswer, PageCall, View } from '../page.ts';

const { createService, deleteService, listServices, updateService } = statusPageRoutes;
const base = '/pages/services';

export const servicePages: readonly Page[] = [
  { path: base, title: 'Services', role: 'READ_ONLY', handler: (call) => showServices(call) },
  { method: 'POST', path: base, title: 'New service', role: 'READ_WRITE', handler: create },
  { method: 'POST', path: `${base}/:id`, title: 'Rename a service', role: 'READ_WRITE', handler: rename },
  {
    method: 'POST',
    path: `${base}/:id/delete`,
    title: 'Delete a service',
    role: 'READ_WRITE',
    handler: remove,
  },
];

/** Shows the services of status pages and incidents. */
async function showServices(
  { api, viewer }: PageCall,
  refused?: { readonly problems: Problems; readonly name?: string },
): Promise<View> {
  const services = await api.call(listServices, { query: { paginated: 'false' } });
  const mayWrite = api.allows(createService);
  const { problems } = refused ?? {};
  const main = html`${heading('Services')}${statusTabs(base)}
<p class="lead soft">The parts of your product, as your customers know them. Status pages show services, incidents affect them, and a check can open incidents for one.</p>
${problemNotice(problems)}
${
  mayWrite
    ? html`<form class="form filter-row" method="post" action="${base}">${csrfField(viewer)}${textField({ name: 'name', label: 'New service', value: refused?.name ?? '', isRequired: true, error: refused?.name === undefined ? undefined : problems?.fields.get('name') })}<button class="button primary" type="submit">Create service</button></form>`
    : ''
}
${table({
  caption: 'Services, newest first',
  rows: services.entries,
  empty: 'No services yet.',
  columns: [
    { title: 'Service', cell: ({ name }) => visible(shortened(name, 120)) },
    { title: 'Created', isMinor: true, cell: ({ created_at: at }) => instant(at) },
    ...(mayWrite
      ? [
          {
            title: 'Actions',
            cell: ({ id, name }: { readonly id: string; readonly name: string }): Html =>
              html`<div class="row-actions">${renameForm(viewer, id, name)}${confirmed({
                to: `${path`/pages/services/${id}`}/delete`,
                word: 'Delete…',
                about: shortened(name, 60),
                confirmWord: 'Delete the service',
                question:
                  'It is removed from status pages and incidents, and checks open no more incidents for it.',
                viewer,
              })}</div>`,
          },
        ]
      : []),
  ],
})}`;
  return { main, ...(problems ? { statusCode: problems.statusCode } : {}) };
}

function renameForm(viewer: PageCall['viewer'], id: string, name: string): Html {
  return html`<details class="confirm"><summary class="button" aria-label="Rename: ${shortened(name, 60)}">Rename…</summary><form class="confirm-box calm" method="post" action="${path`/pages/services/${id}`}">${csrfField(viewer)}${textField({ name: 'name', id: `name-${id}`, label: 'Name', value: name, isRequired: true })}<button class="button primary" type="submit">Rename</button></form></details>`;
}

async function create(call: PageCall): Promise<PageAnswer> {
  const name = call.form.get('name') ?? '';
  const { problems } = await attempt(() => call.api.call(createService, { body: { name } }));
  return problems ? showServices(call, { problems, name }) : { goTo: base, toast: 'Service created.' };
}

async function rename(call: PageCall): Promise<PageAnswer> {
  const { api, form, params } = call;
  const body = { name: form.get('name') ?? '' };
  const { problems } = await attempt(() =>
    api.call(updateService, { params: { serviceId: params['id'] ?? '' }, body }),
  );
  return problems ? showServices(call, { problems }) : { goTo: base, toast: 'Service renamed.' };
}

async function remove({ api, params }: PageCall): Promise<PageAnswer> {
  await api.call(deleteService, { params: { serviceId: params['id'] ?? '' } });
  return { goTo: base, toast: 'Service deleted.' };
}
