import { type ApiKey, apiKeyRoutes } from '@picket/protocol/accounts/api-key.ts';
import type { Role } from '@picket/protocol/accounts/role.ts';
import type { Viewer } from '@picket/service/logins/sessions.ts';
import { copyBox } from '../elements/copy.ts';
import { csrfField, selectField, textField } from '../elements/form.ts';
import { ago, instant, shortened } from '../elements/format.ts';
import { pager, table } from '../elements/table.ts';
import { confirmed, problemNotice } from '../forms/action.ts';
import { attempt, type Problems } from '../forms/problems.ts';
import { type Html, html, path, withQuery } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { accountTabs, roleChoices, roleName } from './tabs.ts';

const rowsPerPage = 50;

interface KeysState {
  readonly problems?: Problems;
  readonly name?: string;
  readonly role?: string;
  /** A key that was just created. */
  readonly made?: { readonly name: string; readonly rawKey: string };
}

/** Shows the API keys of the account to its admins. */
export async function showKeys(call: PageCall, state: KeysState = {}): Promise<View> {
  const { api, viewer, query, clock } = call;
  const page = Math.min(1_000, Math.max(1, Number.parseInt(query.get('page') ?? '1', 10) || 1));
  const { entries: keys, total } = await api.list(apiKeyRoutes.listApiKeys, {
    query: { limit: rowsPerPage, page },
  });
  const now = clock.wallMs();
  const { problems, made } = state;
  const main = html`${heading('Account')}${accountTabs('/account/keys', viewer)}
${problems?.fields.size === 0 ? problemNotice(problems) : ''}${made ? once(made) : ''}
<section><h2>API keys</h2>${table({
    caption: 'API keys',
    rows: keys,
    empty: 'No API keys.',
    columns: [
      { title: 'Name', cell: ({ name }) => shortened(name, 100) },
      { title: 'Key', cell: ({ maskedKey }) => html`<code>${maskedKey}</code>` },
      { title: 'Role', cell: ({ role }) => roleName(role) },
      {
        title: 'Last used',
        cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : ago(Date.parse(lastUsedAt), now)),
      },
      { title: 'Created', cell: ({ created_at }) => instant(created_at), isMinor: true },
      { title: 'Actions', cell: (key) => revocation(key, viewer) },
    ],
  })}${pager({ page, pages: Math.ceil(total / rowsPerPage), href: (other) => withQuery('/account/keys', { page: other }), of: 'API keys' })}</section>
${keyForm(viewer, state)}`;
  return { title: 'API keys', main, ...(problems ? { statusCode: problems.statusCode } : {}) };
}

function revocation({ id, name, maskedKey }: ApiKey, viewer: Viewer): Html {
  const isOwn = id === viewer.actor.id;
  return confirmed({
    to: path`/account/keys/${id}/revoke`,
    word: 'Revoke…',
    about: `${name} ${maskedKey}`,
    confirmWord: 'Revoke the key',
    viewer,
    question: isOwn
      ? 'You are logged in with this key, so you will be logged out.'
      : 'Requests with this key are refused from now on, and people who are logged in with it are logged out.',
  });
}

function keyForm(viewer: Viewer, { problems, name = '', role = 'READ_WRITE' }: KeysState): Html {
  return html`<section><h2>Create a key</h2><form class="form" method="post" action="/account/keys">${csrfField(viewer)}
${textField({ name: 'name', label: 'Name', isRequired: true, value: name, error: problems?.fields.get('name'), hint: 'Purpose of the key.' })}
${selectField({ name: 'role', label: 'Role', value: role, choices: roleChoices, error: problems?.fields.get('role') })}
<div class="actions"><button class="button primary" type="submit">Create a key</button></div></form></section>`;
}

function once({ name, rawKey }: { name: string; rawKey: string }): Html {
  return html`<div class="key-once" role="status"><h2>The new key “${shortened(name, 100)}”</h2>
<p>Copy it now. It is not shown again, because Picket does not store it.</p>
${copyBox(rawKey, 'the key')}</div>`;
}

export async function createKey(call: PageCall): Promise<PageAnswer> {
  const [name = '', role = ''] = ['name', 'role'].map((field) => call.form.get(field) ?? '');
  const { done, problems } = await attempt(() =>
    call.api.call(apiKeyRoutes.createApiKey, { body: { name, role: role as Role } }),
  );
  return showKeys(call, problems ? { problems, name, role } : { made: done });
}

export async function revokeKey(call: PageCall): Promise<PageAnswer> {
  const params = { id: call.params.id ?? '' };
  const { problems } = await attempt(() => call.api.call(apiKeyRoutes.deleteApiKey, { params }));
  return problems ? showKeys(call, { problems }) : { goTo: '/account/keys', toast: 'Key revoked.' };
}
