import { type Dashboard, DashboardInput, dashboardRoutes } from '@picket/protocol/pages/dashboard.ts';
import type { z } from 'zod';
import { csrfField } from '../elements/form.ts';
import { customDomainSection } from '../elements/pages/custom-domain.ts';
import { pageKeyOnce, pageKeys } from '../elements/pages/page-keys.ts';
import { previewFrame, previewPolicy } from '../elements/preview-frame.ts';
import { confirmed, notice, problemNotice } from '../forms/action.ts';
import { Form } from '../forms/form.ts';
import { attempt, type Problems } from '../forms/problems.ts';
import type { Words } from '../forms/view.ts';
import { type Html, html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { nameOf } from './list.ts';

const { checkDashboardDomain, createDashboard, deleteDashboard, getDashboard, updateDashboard } =
  dashboardRoutes;
const base = '/pages/dashboards';

const words: Words = {
  header: { label: 'Name', hint: 'The text at the top.' },
  customUrl: { label: 'Address', hint: 'Last part of the address /dashboards/…. Empty: generated.' },
  customDomain: {
    label: 'Custom domain',
    hint: 'For example wall.example.com. It works after a DNS record proves that you own the name.',
  },
  isPrivate: { label: 'Private', hint: 'Viewers need a key, which is shown once.' },
  description: { lines: 3 },
  tags: { label: 'Checks with these tags', hint: 'One per line. Empty: all checks.' },
  useTagsAndOperator: { label: 'Checks must have all of the tags', hint: '' },
  refreshRate: { label: 'Reload every (seconds)', hint: '' },
  paginationRate: { label: 'Turn the page every (seconds)', hint: '' },
  paginate: { label: 'In pages' },
  checksPerPage: { label: 'Checks per page', hint: 'Empty: 15.' },
  link: { label: 'Link of the logo', hint: '' },
  logo: { label: 'Logo', hint: 'URL of an image.' },
  favicon: { label: 'Icon', hint: 'URL of an image.' },
  enableIncidents: { label: 'Show incidents' },
  showCheckRunLinks: { label: 'Link to the pages of runs' },
  showHeader: { label: 'Show the name and the logo' },
  customCSS: { label: 'Custom CSS', lines: 6, hint: 'CSS.' },
};
const whole = new Form(DashboardInput, words);
const identity = {
  header: true,
  customUrl: true,
  isPrivate: true,
  tags: true,
  useTagsAndOperator: true,
  description: true,
} as const;
const what = new Form(DashboardInput.schema.pick(identity), words);
const looks = new Form(DashboardInput.schema.omit(identity), words);

export function bodyOf(form: URLSearchParams): z.input<typeof DashboardInput.schema> {
  return whole.object(form) as z.input<typeof DashboardInput.schema>;
}

export interface DashboardForm {
  readonly values?: URLSearchParams;
  readonly problems?: Problems;
  readonly isSaved?: boolean;
  /** A key that was just created: shown in this response only. */
  readonly newKey?: string;
}

/** Shows the form of a new or stored dashboard, with a preview. */
export async function dashboardEditor(call: PageCall, shown: DashboardForm = {}): Promise<View> {
  const { api, viewer, params, reply } = call;
  const { id } = params;
  const stored = id === undefined ? undefined : await api.call(getDashboard, { params: { dashboardId: id } });
  const { problems, newKey } = shown;
  const values = shown.values ?? (stored ? whole.values(stored) : whole.defaults());
  const name = stored && nameOf(stored);
  const here = stored ? path`/pages/dashboards/${stored.dashboardId}` : `${base}/new`;
  reply.header('content-security-policy', previewPolicy());
  const state = { values, problems };
  const main = html`<nav class="crumbs"><a href="${base}">Dashboards</a></nav>${heading(
    name ?? 'New dashboard',
    stored ? actions(viewer, stored, here) : '',
  )}${shown.isSaved ? notice('Saved.') : ''}${problemNotice(problems)}${stored && newKey ? pageKeyOnce('dashboard', path`/dashboards/${stored.customUrl}`, newKey) : ''}
<div class="editing"><form class="form" method="post" action="${here}">${csrfField(viewer)}
${what.view(state)}
<details${looks.hasProblem(problems) ? html` open` : ''}><summary>Looks</summary>${looks.view(state)}</details>
<div class="actions"><button class="button primary" type="submit">${stored ? 'Save' : 'Create the dashboard'}</button><button class="button" type="submit" formaction="${base}/preview" formtarget="preview" formnovalidate>Preview</button><a class="button" href="${base}">Cancel</a></div></form>
${previewFrame('Preview of the dashboard')}</div>
${stored ? customDomainSection(stored, `${here}/domain`, viewer) : ''}${stored?.isPrivate ? pageKeys('dashboard', stored.keys) : ''}`;
  return {
    title: name ?? 'New dashboard',
    main,
    ...(problems ? { statusCode: problems.statusCode } : {}),
  };
}

function actions(viewer: PageCall['viewer'], { customUrl }: Dashboard, here: string): Html {
  return html`<div class="row-actions"><a class="button" href="${path`/dashboards/${customUrl}`}">Open it</a>${confirmed(
    {
      to: `${here}/delete`,
      word: 'Delete…',
      confirmWord: 'Delete the dashboard',
      question:
        'Visitors get a 404 at its address. Its keys and incidents are deleted, too. Checks are kept.',
      viewer,
    },
  )}</div>`;
}

export async function checkDomain({ api, params }: PageCall): Promise<PageAnswer> {
  const { id = '' } = params;
  await api.call(checkDashboardDomain, { params: { dashboardId: id } });
  return { goTo: `${path`/pages/dashboards/${id}`}#custom-domain` };
}

export async function saveDashboard(call: PageCall): Promise<PageAnswer> {
  const { api, form, params } = call;
  const { id } = params;
  const before = id === undefined ? undefined : await api.call(getDashboard, { params: { dashboardId: id } });
  const body = bodyOf(form);
  const { done, problems } = await attempt(() =>
    id === undefined
      ? api.call(createDashboard, { body })
      : api.call(updateDashboard, { params: { dashboardId: id }, body }),
  );
  if (problems) return dashboardEditor(call, { values: form, problems });
  // An existing key is masked and not shown.
  const newKey = before?.isPrivate ? undefined : done.keys[0]?.rawKey;
  if (newKey !== undefined) {
    return dashboardEditor({ ...call, params: { id: done.dashboardId } }, { isSaved: true, newKey });
  }
  return { goTo: `${path`/pages/dashboards/${done.dashboardId}`}`, toast: 'Saved.' };
}

export async function removeDashboard({ api, params }: PageCall): Promise<PageAnswer> {
  await api.call(deleteDashboard, { params: { dashboardId: params['id'] ?? '' } });
  return { goTo: base, toast: 'Dashboard deleted.' };
}
