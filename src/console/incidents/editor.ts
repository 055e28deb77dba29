import { incidentRoutes } from '@picket/protocol/pages/incident.ts';
import { statusPageRoutes } from '@picket/protocol/pages/status-page.ts';
import { boxes, checkbox, csrfField, selectField, textArea, textField } from '../elements/form.ts';
import { shortened } from '../elements/format.ts';
import { visible } from '../elements/text.ts';
import { problemNotice } from '../forms/action.ts';
import { attempt, type Problems } from '../forms/problems.ts';
import { type Html, html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { componentFields, impactsOf } from './components.ts';
import { severityChoices, statusChoices } from './words.ts';

const { createIncident } = incidentRoutes;

interface Refused {
  readonly values: URLSearchParams;
  readonly problems: Problems;
}

/** Name, severity, services and components. */
export async function incidentFields(
  call: PageCall,
  values: URLSearchParams,
  problems?: Problems,
): Promise<Html> {
  const { api } = call;
  const services = await api.call(statusPageRoutes.listServices, { query: { paginated: 'false' } });
  const error = (name: string) => problems?.fields.get(name);
  const wrong = [...(problems?.fields ?? [])].find(([name]) => name.startsWith('services'))?.[1];
  const components = await componentFields(call, values, problems);
  return html`${textField({ name: 'name', label: 'Title', value: values.get('name') ?? '', isRequired: true, error: error('name') })}
${selectField({ name: 'severity', label: 'Severity', value: values.get('severity') ?? 'MINOR', choices: severityChoices, error: error('severity') })}
${boxes({
  name: 'services',
  label: 'Services',
  hint:
    services.entries.length === 0 && components === ''
      ? html`Incidents affect services. <a href="/pages/services">Create one</a> first.`
      : 'Status pages with any of these services show the incident.',
  error: wrong,
  choices: services.entries.map(({ id, name }) => ({ value: id, word: visible(shortened(name, 80)) })),
  chosen: values.getAll('services'),
})}
${components}`;
}

/** The fields of an update. */
export function updateFields(prefix: string, values: URLSearchParams, problems?: Problems): Html {
  const of = (name: string) => `${prefix}${name}`;
  const error = (name: string) => problems?.fields.get(of(name));
  return html`${selectField({ name: of('status'), label: 'Status', value: values.get(of('status')) ?? 'INVESTIGATING', choices: statusChoices, error: error('status') })}
${textArea({ name: of('description'), label: 'Message', value: values.get(of('description')) ?? '', rows: 4, error: error('description') })}
${checkbox({
  name: of('notifySubscribers'),
  label: 'Mail the subscribers of its status pages',
  isChecked: problems === undefined || values.get(of('notifySubscribers')) === 'true',
})}`;
}

export function updateOf(prefix: string, form: URLSearchParams) {
  return {
    status: (form.get(`${prefix}status`) ?? '') as 'INVESTIGATING',
    description: (form.get(`${prefix}description`) ?? '').replaceAll('\r\n', '\n'),
    notifySubscribers: form.get(`${prefix}notifySubscribers`) === 'true',
  };
}

export function incidentOf(form: URLSearchParams) {
  return {
    name: form.get('name') ?? '',
    severity: (form.get('severity') ?? '') as 'MINOR',
    services: form.getAll('services').map((id) => ({ id })),
    components: impactsOf(form),
  };
}

const first = 'incidentUpdates.0.';

export async function newIncident(call: PageCall, refused?: Refused): Promise<View> {
  const { values = new URLSearchParams(), problems } = refused ?? {};
  const main = html`<nav class="crumbs"><a href="/pages/incidents">Incidents</a></nav>${heading('New incident')}
${problemNotice(problems)}<form class="form" method="post" action="/pages/incidents/new">${csrfField(call.viewer)}
${await incidentFields(call, values, problems)}
<fieldset class="group"><legend>The first update</legend>${updateFields(first, values, problems)}</fieldset>
<div class="actions"><button class="button primary" type="submit">Publish incident</button><a class="button" href="/pages/incidents">Cancel</a></div></form>`;
  return { main, ...(problems ? { statusCode: problems.statusCode } : {}) };
}

export async function createOne(call: PageCall): Promise<PageAnswer> {
  const { api, form } = call;
  const body = { ...incidentOf(form), incidentUpdates: [updateOf(first, form)] };
  const { done, problems } = await attempt(() => api.call(createIncident, { body }));
  if (problems) return newIncident(call, { values: form, problems });
  return { goTo: path`/pages/incidents/${done.id}`, toast: 'Incident published.' };
}
