import { loginSessionRoutes, type Session } from '@picket/protocol/accounts/member.ts';
import { record } from '@picket/service/audit/record.ts';
import { roleIn } from '@picket/service/logins/store.ts';
import { changePassword as change } from '@picket/service/members/passwords.ts';
import type { PersonRow } from '@picket/service/members/tables.ts';
import { csrfField, textField } from '../elements/form.ts';
import { ago, instant, shortened } from '../elements/format.ts';
import { facts, table } from '../elements/table.ts';
import { visible } from '../elements/text.ts';
import { actionButton, notice } from '../forms/action.ts';
import { attempt } from '../forms/problems.ts';
import { type Content, type Html, html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { accountTabs, roleName } from './tabs.ts';

interface ProfileState {
  readonly said?: string;
  readonly oldError?: string;
  readonly newError?: string | undefined;
}

/** Shows the logged-in viewer, their sessions, and for members their name, password and accounts. */
export async function showProfile(call: PageCall, state: ProfileState = {}): Promise<View> {
  const { viewer, api, clock } = call;
  const person = await personOf(call);
  const sessions = await api.call(loginSessionRoutes.listLoginSessions, {});
  const now = clock.wallMs();
  const isWrong = state.oldError !== undefined || state.newError !== undefined;
  const main = html`${heading('Account')}${accountTabs('/account/profile', viewer)}
${state.said === undefined ? '' : notice(state.said)}
<section class="stacked"><h2>You</h2>${facts([
    ['Logged in as', person ? person.email : html`the API key “${viewer.actor.name}”`],
    ['Role', roleName(viewer.role)],
  ])}${person ? nameForm(call, person) : html`<p class="hint">The audit log cannot distinguish people who log in with this key. Ask an admin to invite you as a member.</p>`}</section>
${person ? await accountsSection(call, person) : ''}
${person && person.password !== null ? passwordForm(call, person, state) : ''}
<section><h2>Where ${viewer.role === 'ADMIN' ? 'people are' : 'you are'} logged in</h2>${table({
    caption: 'Login sessions',
    rows: sessions,
    empty: 'Nowhere.',
    columns: [
      ...(viewer.role === 'ADMIN'
        ? [{ title: 'Who', cell: ({ actor }: Session) => shortened(actor.name, 80) }]
        : []),
      { title: 'Browser', cell: (session) => browserWords(session, viewer.sessionId) },
      { title: 'From', cell: ({ address }) => address ?? 'unknown' },
      { title: 'Last seen', cell: ({ lastSeenAt }) => ago(Date.parse(lastSeenAt), now) },
      { title: 'Since', cell: ({ createdAt }) => instant(createdAt), isMinor: true },
      {
        title: 'Actions',
        cell: (session) =>
          actionButton({
            to: path`/account/sessions/${session.id}/end`,
            word: 'End',
            about: `${session.actor.name}, ${session.address ?? 'somewhere'}`,
            viewer,
          }),
      },
    ],
  })}<div class="actions after">${actionButton({ to: '/account/sessions/end-others', word: 'End all my other sessions', viewer })}</div></section>`;
  return { title: 'You', main, ...(isWrong ? { statusCode: 422 } : {}) };
}

async function personOf({ viewer, store }: PageCall): Promise<PersonRow | undefined> {
  return viewer.actor.kind === 'MEMBER' ? store.members.person(viewer.actor.id) : undefined;
}

function browserWords({ id, browser }: Session, ownId: string): Content {
  const name = visible(shortened(browser ?? 'unknown', 80));
  return id === ownId ? html`${name} <strong>(this one)</strong>` : name;
}

function nameForm({ viewer }: PageCall, person: PersonRow): Html {
  return html`<form class="form" method="post" action="/account/profile">${csrfField(viewer)}
${textField({ name: 'name', label: 'Your name', value: person.name ?? '', autocomplete: 'name', hint: 'Shown in the audit log.' })}
<div class="actions"><button class="button" type="submit">Save</button></div></form>`;
}

async function accountsSection({ store, viewer }: PageCall, person: PersonRow): Promise<Html | ''> {
  const accounts = await store.members.accountsOf(person.id);
  if (accounts.length < 2) return '';
  return html`<section><h2>Your accounts</h2>${table({
    caption: 'Your accounts',
    rows: accounts,
    empty: '',
    columns: [
      { title: 'Account', cell: ({ name }) => shortened(name, 100) },
      { title: 'Role', cell: ({ role }) => roleName(role) },
      {
        title: 'Actions',
        cell: ({ id, name }) =>
          id === viewer.accountId
            ? 'Current'
            : actionButton({
                to: '/account/switch',
                word: 'Switch',
                about: name,
                viewer,
                fields: html`<input type="hidden" name="accountId" value="${id}">`,
              }),
      },
    ],
  })}</section>`;
}

function passwordForm(
  { viewer }: PageCall,
  { email }: PersonRow,
  { oldError, newError }: ProfileState,
): Html {
  return html`<section><h2>Change your password</h2><form class="form" method="post" action="/account/password">${csrfField(viewer)}
<input hidden type="email" name="username" value="${email}" autocomplete="username" readonly>
${textField({ name: 'old', label: 'Current password', type: 'password', isRequired: true, autocomplete: 'current-password', error: oldError })}
${textField({ name: 'new', label: 'New password', type: 'password', isRequired: true, autocomplete: 'new-password', error: newError, hint: 'At least 12 characters. This ends your other sessions.' })}
<div class="actions"><button class="button" type="submit">Change the password</button></div></form></section>`;
}

export async function saveName(call: PageCall): Promise<PageAnswer> {
  const person = await personOf(call);
  if (!person) return showProfile(call);
  const name = (call.form.get('name') ?? '').trim().slice(0, 200).toWellFormed().replaceAll('\u0000', '');
  await call.store.members.updatePerson(person.id, { name: name === '' ? null : name });
  await recordOwn(call, 'updateProfile', { before: { name: person.name }, after: { name } });
  return { goTo: '/account/profile', toast: 'Saved.' };
}

export async function changePassword(call: PageCall): Promise<PageAnswer> {
  const person = await personOf(call);
  if (!person || person.password === null) return showProfile(call);
  const { form, viewer } = call;
  const { done, problems } = await attempt(() =>
    change(call, person, {
      old: form.get('old') ?? '',
      new: form.get('new') ?? '',
      keptSessionId: viewer.sessionId,
    }),
  );
  if (problems) return showProfile(call, { newError: problems.fields.get('password') ?? problems.message });
  if (!done) return showProfile(call, { oldError: 'The password is wrong.' });
  await recordOwn(call, 'changePassword', {});
  return showProfile(call, { said: 'Your password was changed. Your other sessions have ended.' });
}

export async function endSession(call: PageCall): Promise<PageAnswer> {
  await call.api.call(loginSessionRoutes.endLoginSession, { params: { id: call.params.id ?? '' } });
  return { goTo: '/account/profile', toast: 'Session ended.' };
}

export async function endOtherSessions(call: PageCall): Promise<PageAnswer> {
  const { api, viewer } = call;
  const sessions = await api.call(loginSessionRoutes.listLoginSessions, {});
  for (const { id, actor } of sessions) {
    if (actor.id !== viewer.actor.id || id === viewer.sessionId) continue;
    await api.call(loginSessionRoutes.endLoginSession, { params: { id } });
  }
  return { goTo: '/account/profile', toast: 'Other sessions ended.' };
}

/** Switches to another account that the person is a member of. */
export async function switchAccount(call: PageCall): Promise<PageAnswer> {
  const { store, viewer, form } = call;
  const person = await personOf(call);
  const accounts = person ? await store.members.accountsOf(person.id) : [];
  const session = await store.logins.findById(viewer.sessionId, call.clock.wallMs());
  // A session begun with a password does not lead to an account that admits members through groups only.
  const wanted =
    session && accounts.find((one) => one.id === form.get('accountId') && roleIn(session, one) !== null);
  if (person && wanted) {
    await store.logins.move(viewer.sessionId, person.id, wanted.id);
    const { actor } = viewer;
    const entered = { accountId: wanted.id, operation: 'login', address: call.request.ip };
    await record(store, call.clock, { ...entered, actor, after: { by: 'another account' } });
  }
  return { goTo: '/' };
}

async function recordOwn(
  { store, clock, viewer, request }: PageCall,
  operation: string,
  changes: { readonly before?: object; readonly after?: object },
): Promise<void> {
  const { accountId, actor } = viewer;
  const resource = `accounts/me/members/${actor.id}`;
  await record(store, clock, {
    ...changes,
    actor,
    accountId,
    operation,
    resource,
    resourceName: actor.name,
    address: request.ip,
  });
}
