import {
  type StatusPage,
  StatusPageFields,
  type StatusPageInput,
  statusPageRoutes,
} from '@picket/protocol/pages/status-page.ts';
import { copyBox } from '../elements/copy.ts';
import { csrfField } from '../elements/form.ts';
import { shortened } from '../elements/format.ts';
import { customDomainSection } from '../elements/pages/custom-domain.ts';
import { pageKeyOnce, pageKeys } from '../elements/pages/page-keys.ts';
import { previewFrame, previewPolicy } from '../elements/preview-frame.ts';
import { visible } from '../elements/text.ts';
import { confirmed, notice, problemNotice } from '../forms/action.ts';
import { Form } from '../forms/form.ts';
import { attempt, type Problems } from '../forms/problems.ts';
import type { Words } from '../forms/view.ts';
import { type Html, html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { cardFields } from './card-fields.ts';
import { arranged, cardsOf, withCards } from './cards.ts';
import { componentSections } from './components.ts';
import { colourNames, withColours } from './theme-values.ts';

const {
  checkStatusPageDomain,
  createStatusPage,
  deleteStatusPage,
  getStatusPage,
  listServices,
  updateStatusPage,
} = statusPageRoutes;
const base = '/pages/status';

const words: Words = {
  name: { label: 'Name' },
  url: { label: 'Address', hint: 'Last part of the address /status/…. Letters, digits and dashes.' },
  customDomain: {
    label: 'Custom domain',
    hint: 'For example status.example.com. It works after a DNS record proves that you own the name.',
  },
  isPrivate: { label: 'Private', hint: 'Visitors need a key, which is shown once.' },
  description: { lines: 3 },
  logo: { label: 'Logo', hint: 'URL of an image.' },
  redirectTo: { label: 'Link of the logo' },
  favicon: { label: 'Icon', hint: 'URL of an image.' },
  defaultTheme: {
    label: 'Light or dark',
    words: { AUTO: 'System setting', LIGHT: 'Light', DARK: 'Dark' },
  },
  themeColors: { label: 'Colours', boxLabel: 'Custom colours' },
  cards: { isHidden: true },
  version: { isHidden: true },
  logoDark: { label: 'Logo on a dark page', hint: 'URL of an image.' },
  footerText: { label: 'Text in the footer', lines: 2 },
  supportLink: { label: 'Support', hint: 'URL, linked in the footer.' },
  privacyPolicyLink: { label: 'Privacy policy', hint: 'URL, linked in the footer.' },
  termsOfServiceLink: { label: 'Terms of service', hint: 'URL, linked in the footer.' },
  allowIndexing: { label: 'Allow search engines to index it' },
  googleAnalyticsTag: {
    label: 'Google Analytics tag',
    hint: 'For example G-XXXXXXXXXX. Visitors load a Google script that counts them.',
  },
  ...Object.fromEntries(colourNames.map((name) => [name, { type: 'color' as const }])),
};
const whole = new Form(StatusPageFields, words);
const section = (mask: { readonly [Name in keyof typeof StatusPageFields.schema.shape]?: true }) =>
  new Form(StatusPageFields.schema.pick(mask), words);
const what = section({ name: true, url: true, customDomain: true, isPrivate: true, description: true });
const looks = section({
  logo: true,
  redirectTo: true,
  logoDark: true,
  favicon: true,
  defaultTheme: true,
  themeColors: true,
});
const around = section({
  footerText: true,
  supportLink: true,
  privacyPolicyLink: true,
  termsOfServiceLink: true,
  allowIndexing: true,
  googleAnalyticsTag: true,
});

/** Converts the form to an API body. */
export function bodyOf(form: URLSearchParams) {
  const options = whole.object(form);
  if (form.get('version') === '3') return { ...options, version: 3 } as never;
  const cards = cardsOf(form).map(({ id, name, services }) => ({
    ...(id === undefined ? {} : { id }),
    name,
    services: services.map((service) => ({ id: service })),
  }));
  return { ...options, cards } as Parameters<typeof StatusPageInput.schema.parse>[0] as never;
}

function valuesFrom(page: StatusPage): URLSearchParams {
  const values = whole.values(page);
  if (page.version === 3) return values;
  const cards = page.cards.map((card) => ({
    id: card.id,
    name: card.name,
    services: card.services.map(({ id }) => id),
  }));
  return withCards(values, cards);
}

function newValues(version: 2 | 3): URLSearchParams {
  const values = whole.defaults();
  if (version === 2) return withCards(values, [{ id: undefined, name: 'Services', services: [] }]);
  values.set('version', '3');
  return values;
}

export interface PageForm {
  readonly values?: URLSearchParams;
  readonly problems?: Problems;
  readonly isSaved?: boolean;
  /** A key that was just created: shown in this response only. */
  readonly newKey?: string;
}

/** Shows the form of a new or stored page, with a preview. */
export async function pageEditor(call: PageCall, shown: PageForm = {}): Promise<View> {
  const { api, viewer, params, reply } = call;
  const { id } = params;
  const stored =
    id === undefined ? undefined : await api.call(getStatusPage, { params: { statusPageId: id } });
  const services = await api.call(listServices, { query: { paginated: 'false' } });
  const { problems, newKey } = shown;
  const given =
    shown.values ?? (stored ? valuesFrom(stored) : newValues(call.query.get('version') === '3' ? 3 : 2));
  const values = withColours(given);
  const version = stored?.version ?? (values.get('version') === '3' ? 3 : 2);
  const name = stored && visible(shortened(stored.name, 100));
  const here = stored ? path`/pages/status/${stored.id}` : `${base}/new`;
  reply.header('content-security-policy', previewPolicy());
  const state = { values, problems };
  const main = html`<nav class="crumbs"><a href="${base}">Status pages</a></nav>${heading(
    name ?? 'New status page',
    stored ? actions(call, stored, here) : '',
  )}${shown.isSaved ? notice('Saved.') : ''}${problemNotice(problems)}${stored && newKey ? pageKeyOnce('page', path`/status/${stored.url}`, newKey) : ''}
<div class="editing"><form class="form" method="post" action="${here}">${csrfField(viewer)}<button class="hidden" type="submit" tabindex="-1" aria-hidden="true">Save</button>${
    stored ? html`<input type="hidden" name="statusPageId" value="${stored.id}">` : ''
  }
${what.view(state)}
${version === 3 ? html`<input type="hidden" name="version" value="3">` : cardFields(cardsOf(values), services.entries, problems)}
<details${looks.hasProblem(problems) ? html` open` : ''}><summary>Looks</summary>${looks.view(state)}</details>
<details${around.hasProblem(problems) ? html` open` : ''}><summary>Footer and search engines</summary>${around.view(state)}</details>
<div class="actions"><button class="button primary" type="submit">${stored ? 'Save' : 'Create the page'}</button><button class="button" type="submit" formaction="${base}/preview" formtarget="preview" formnovalidate>Preview</button><a class="button" href="${base}">Cancel</a></div></form>
${previewFrame('Preview of the page')}</div>
${stored?.version === 3 ? await componentSections(call, stored) : ''}
${stored ? customDomainSection(stored, `${here}/domain`, viewer) : ''}${stored?.isPrivate ? pageKeys('page', stored.keys) : ''}`;
  return {
    title: name ?? 'New status page',
    main,
    ...(problems ? { statusCode: problems.statusCode } : {}),
  };
}

function actions({ viewer, request }: PageCall, page: StatusPage, here: string): Html {
  const address = path`/status/${page.url}`;
  const origin = URL.parse(`${request.protocol}://${request.host}`)?.origin ?? '';
  return html`<div class="row-actions"><a class="button" href="${address}">Open it</a><a class="button" href="${here}/subscribers">Subscribers</a>
${page.isPrivate ? '' : badge(page, origin)}
${confirmed({
  to: `${here}/delete`,
  word: 'Delete…',
  confirmWord: 'Delete the page',
  question:
    'Visitors get a 404 at its address. Its subscribers are deleted. Services and incidents are kept.',
  viewer,
})}</div>`;
}

function badge({ url }: StatusPage, origin: string): Html {
  const image = path`/v1/badges/status-pages/${url}`;
  return html`<details class="confirm"><summary class="button">Badge…</summary><div class="confirm-box calm"><p><img src="${image}" alt="The badge of this page"></p><p>For a README or a site:</p>
${copyBox(`[![Status](${origin}${image})](${origin}${path`/status/${url}`})`, 'the badge as Markdown')}</div></details>`;
}

/** Shows the form again after a button moved something, without saving. */
export function arrangePage(call: PageCall): Promise<View> {
  const { form, query } = call;
  const id = form.get('statusPageId');
  const params: PageCall['params'] = id ? { id } : {};
  const values = withCards(form, arranged(cardsOf(form), query.get('act') ?? ''));
  return pageEditor({ ...call, params }, { values });
}

export async function savePage(call: PageCall): Promise<PageAnswer> {
  const { api, form, params } = call;
  const { id } = params;
  const before =
    id === undefined ? undefined : await api.call(getStatusPage, { params: { statusPageId: id } });
  const body = bodyOf(form);
  const { done, problems } = await attempt(() =>
    id === undefined
      ? api.call(createStatusPage, { body })
      : api.call(updateStatusPage, { params: { statusPageId: id }, body }),
  );
  if (problems) return pageEditor(call, { values: form, problems });
  // An existing key is masked and not shown.
  const newKey = before?.isPrivate ? undefined : done.keys[0]?.rawKey;
  if (newKey !== undefined)
    return pageEditor({ ...call, params: { id: done.id } }, { isSaved: true, newKey });
  return { goTo: `${path`/pages/status/${done.id}`}`, toast: 'Saved.' };
}

export async function checkPageDomain({ api, params }: PageCall): Promise<PageAnswer> {
  const { id = '' } = params;
  await api.call(checkStatusPageDomain, { params: { statusPageId: id } });
  return { goTo: `${path`/pages/status/${id}`}#custom-domain` };
}

export async function deletePage({ api, params }: PageCall): Promise<PageAnswer> {
  await api.call(deleteStatusPage, { params: { statusPageId: params['id'] ?? '' } });
  return { goTo: base, toast: 'Status page deleted.' };
}
