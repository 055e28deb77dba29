import { type Incident, incidentRoutes } from '@picket/protocol/pages/incident.ts';
import { csrfField } from '../elements/form.ts';
import { duration, instant, shortened } from '../elements/format.ts';
import { facts } from '../elements/table.ts';
import { section, visible } from '../elements/text.ts';
import { confirmed, problemNotice } from '../forms/action.ts';
import { attempt, type Problems } from '../forms/problems.ts';
import { type Html, html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { impactWord } from '../public/components/component-view.ts';
import { impactFields } from './components.ts';
import { incidentFields, incidentOf, updateFields, updateOf } from './editor.ts';
import { incidentBadge, statusWord } from './words.ts';

const { createIncidentUpdate, deleteIncident, deleteIncidentUpdate, getIncident, updateIncident } =
  incidentRoutes;

interface Refused {
  readonly problems: Problems;
  /** The refused form; its values follow. */
  readonly form: 'update' | 'change' | 'none';
  readonly values: URLSearchParams;
}

const incidentIdOf = ({ params }: PageCall) => ({ incidentId: params['id'] ?? '' });

/** Shows one incident: its timeline, the form of the next update, and the pages that show it. */
export async function showIncident(call: PageCall, refused?: Refused): Promise<View> {
  const { api, store, viewer } = call;
  const incident = await api.call(getIncident, { params: incidentIdOf(call) });
  const { accountId } = viewer;
  const showing = await store.statusPages.showing(incident.services.map(({ id }) => id));
  const having = incident.components.map(({ statusPageId }) => statusPageId);
  const pages = [
    ...showing.filter((page) => page.account_id === accountId),
    ...(await store.statusPages.findMany(accountId, [...new Set(having)])),
  ];
  const mayWrite = api.allows(updateIncident);
  const name = visible(shortened(incident.name, 160));
  const here = path`/pages/incidents/${incident.id}`;
  const main = html`<nav class="crumbs"><a href="/pages/incidents">Incidents</a></nav>${heading(
    name,
    mayWrite
      ? confirmed({
          to: `${here}/delete`,
          word: 'Delete…',
          confirmWord: 'Delete the incident',
          question:
            'It disappears from status pages, and its time counts as up. To end an incident, resolve it instead.',
          viewer,
        })
      : '',
  )}${problemNotice(refused?.problems)}
${facts([
  ['State', incidentBadge(incident)],
  [
    'Services',
    incident.services.map(
      (service) => html`<span class="tag">${visible(shortened(service.name, 60))}</span> `,
    ),
  ],
  ...(incident.components.length === 0
    ? []
    : [
        [
          'Components',
          incident.components.map(
            ({ name: component, impact }) =>
              html`<span class="tag">${visible(shortened(component, 60))}: ${impactWord(impact)}</span> `,
          ),
        ] as const,
      ]),
  [
    'Shown on',
    pages.length === 0
      ? 'no status page'
      : html`<ul>${pages.map((page) => html`<li><a href="${path`/status/${page.url}`}">${visible(shortened(page.name, 60))}</a></li>`)}</ul>`,
  ],
  ['Duration', incident.duration === null ? 'ongoing' : duration(incident.duration * 1_000)],
])}
${mayWrite ? await forms(call, incident, { here, refused }) : ''}
${section('Timeline', timeline(call, incident, here, mayWrite))}`;
  return { title: name, main, ...(refused ? { statusCode: refused.problems.statusCode } : {}) };
}

async function forms(
  call: PageCall,
  incident: Incident,
  { here, refused }: { readonly here: string; readonly refused: Refused | undefined },
): Promise<Html> {
  const { viewer } = call;
  const of = (form: Refused['form']) => (refused?.form === form ? refused : undefined);
  const next = new URLSearchParams({ status: incident.lastUpdateStatus });
  const stored = new URLSearchParams([
    ['name', incident.name],
    ['severity', incident.severity],
    ...incident.services.map(({ id }): [string, string] => ['services', id]),
    ...impactFields(incident.components),
  ]);
  const [update, changed] = [of('update'), of('change')];
  return html`<section><h2>Next update</h2><form class="form" method="post" action="${here}/updates">${csrfField(viewer)}
${updateFields('', update?.values ?? next, update?.problems)}
<div class="actions"><button class="button primary" type="submit">Post the update</button>${
    incident.duration === null
      ? html`<button class="button" type="submit" name="resolve" value="true">Post and resolve</button>`
      : ''
  }</div></form></section>
<details${changed ? html` open` : ''}><summary>Change name, severity, services or components</summary><form class="form" method="post" action="${here}">${csrfField(viewer)}
${await incidentFields(call, changed?.values ?? stored, changed?.problems)}
<div class="actions"><button class="button" type="submit">Save</button></div></form></details>`;
}

function timeline(
  { viewer }: PageCall,
  { incidentUpdates }: Incident,
  here: string,
  mayWrite: boolean,
): Html {
  const isOnly = incidentUpdates.length === 1;
  return html`<ol class="updates">${incidentUpdates.map(
    ({ id, status, description, publicIncidentUpdateDate: at, notifySubscribers }) =>
      html`<li><p class="small"><b>${statusWord(status)}</b> <span class="soft">${instant(at)}${notifySubscribers ? ', mailed to subscribers' : ''}</span></p><p class="prose">${visible(description)}</p>${
        mayWrite && !isOnly
          ? html`<div class="row-actions">${confirmed({
              to: `${here}/updates/${encodeURIComponent(id)}/delete`,
              word: 'Retract…',
              about: `${statusWord(status)}, ${at}`,
              confirmWord: 'Retract',
              question: 'It disappears from pages. Mails that were already sent cannot be recalled.',
              viewer,
            })}</div>`
          : ''
      }</li>`,
  )}</ol>`;
}

export async function postUpdate(call: PageCall): Promise<PageAnswer> {
  const { api, form } = call;
  const isResolved = form.get('resolve') === 'true';
  const body = { ...updateOf('', form), ...(isResolved ? { status: 'RESOLVED' as const } : {}) };
  const { problems } = await attempt(() =>
    api.call(createIncidentUpdate, { params: incidentIdOf(call), body }),
  );
  if (problems) return showIncident(call, { problems, form: 'update', values: form });
  return { goTo: path`/pages/incidents/${call.params['id'] ?? ''}`, toast: 'Update published.' };
}

export async function saveIncident(call: PageCall): Promise<PageAnswer> {
  const { api, form } = call;
  const { problems } = await attempt(() =>
    api.call(updateIncident, { params: incidentIdOf(call), body: incidentOf(form) }),
  );
  if (problems) return showIncident(call, { problems, form: 'change', values: form });
  return { goTo: path`/pages/incidents/${call.params['id'] ?? ''}`, toast: 'Saved.' };
}

export async function takeBack(call: PageCall): Promise<PageAnswer> {
  const params = { ...incidentIdOf(call), incidentUpdateId: call.params['update'] ?? '' };
  const { problems } = await attempt(() => call.api.call(deleteIncidentUpdate, { params }));
  if (problems) return showIncident(call, { problems, form: 'none', values: call.form });
  return { goTo: path`/pages/incidents/${call.params['id'] ?? ''}`, toast: 'Update withdrawn.' };
}

export async function deleteOne(call: PageCall): Promise<PageAnswer> {
  await call.api.call(deleteIncident, { params: incidentIdOf(call) });
  return { goTo: '/pages/incidents', toast: 'Incident deleted.' };
}
