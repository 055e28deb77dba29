import type { InvitationRow } from '@picket/service/members/tables.ts';
import { roleName } from '../account/tabs.ts';
import { textField } from '../elements/form.ts';
import { notice } from '../forms/action.ts';
import { type Content, type Html, html, withQuery } from '../html.ts';

/** Options of a login page, and the outcome of the last attempt. */
export interface LoginView {
  readonly next: string;
  /** Whether any member has a password. */
  readonly hasPasswords: boolean;
  /** Name of the single sign-on provider, if one is configured. */
  readonly singleSignOn?: string | undefined;
  readonly keyError?: string;
  readonly passwordError?: string;
  readonly email?: string;
  /** Problem on another page, or a completed action. */
  readonly said?: { readonly message: Content; readonly kind: 'done' | 'refused' };
}

/** Shows the available login methods: single sign-on, mail address and password, or a key. */
export function loginMain(view: LoginView): Html {
  const { next, hasPasswords, singleSignOn, said, keyError } = view;
  const others = hasPasswords || singleSignOn !== undefined;
  return html`<div class="login"><h1>Log in</h1>${said ? notice(said.message, said.kind) : ''}
${
  singleSignOn === undefined
    ? ''
    : html`<p class="actions"><a class="button primary" href="${withQuery('/login/sso', { next: next === '/' ? undefined : next })}">Continue with ${singleSignOn}</a></p>`
}
${hasPasswords ? passwordForm(view) : ''}
${
  others
    ? html`<details${keyError === undefined ? '' : html` open`}><summary>Log in with an API key</summary>${keyForm(view)}</details>`
    : keyForm(view)
}</div>`;
}

function passwordForm({ next, email, passwordError }: LoginView): Html {
  return html`<form method="post" action="/login/password"><input type="hidden" name="next" value="${next}">
${textField({
  name: 'email',
  label: 'Mail address',
  type: 'email',
  isRequired: true,
  autocomplete: 'username',
  value: email,
})}
${textField({
  name: 'password',
  label: 'Password',
  type: 'password',
  isRequired: true,
  autocomplete: 'current-password',
  error: passwordError,
})}
<button class="button primary" type="submit">Log in</button>
<p><a href="/login/forgotten">Forgot your password?</a></p></form>`;
}

function keyForm({ next, keyError }: LoginView): Html {
  return html`<form method="post" action="/login"><input type="hidden" name="next" value="${next}">
${textField({
  name: 'key',
  label: 'API key',
  type: 'password',
  isRequired: true,
  autocomplete: 'off',
  error: keyError,
  hint: html`Your permissions are those of the key.`,
})}
<button class="button primary" type="submit">Log in</button></form>
<details><summary>Where is my key?</summary>
<p>The first key of a new service is in the file <code>api-key</code> of its data folder; <code>npm start</code> stores it in <code>.picket/api-key</code>. <code>picket service add-key</code> creates more keys, each with a role.</p></details>`;
}

export interface SetPasswordView {
  readonly title: string;
  readonly lead: Content;
  readonly action: string;
  readonly email: string;
  readonly word: string;
  /** Whether to set a new password, or ask for the existing one. */
  readonly isNew: boolean;
  /** Initial value of the name; the field is hidden if absent. */
  readonly name?: string;
  readonly error?: string | undefined;
}

/** Page to choose a password, or to enter the existing one. */
export function setPasswordMain(view: SetPasswordView): Html {
  const { title, lead, action, email, word, isNew, name, error } = view;
  return html`<div class="login"><h1>${title}</h1><p>${lead}</p>
<form method="post" action="${action}">
<input hidden type="email" name="username" value="${email}" autocomplete="username" readonly>
${name === undefined ? '' : textField({ name: 'name', label: 'Your name', value: name, autocomplete: 'name' })}
${textField({
  name: 'password',
  label: isNew ? 'New password' : 'Your password',
  type: 'password',
  isRequired: true,
  autocomplete: isNew ? 'new-password' : 'current-password',
  error,
  hint: isNew ? 'At least 12 characters. A few words are easier to remember than symbols.' : undefined,
})}
<button class="button primary" type="submit">${word}</button></form></div>`;
}

/** An invitation for a person whom single sign-on has authenticated. */
export interface Offer {
  readonly invitation: InvitationRow;
  readonly accountName: string;
  /** Accepts it, once. */
  readonly token: string;
}

/** Page to accept invitations; `next` continues without them. */
export function offeredMain(offers: readonly Offer[], next: string | null): Html {
  return html`<div class="login"><h1>You are invited</h1>${offers.map(
    ({ invitation, accountName, token }) =>
      html`<form method="post" action="/login/sso/join"><p>${invitation.invited_by} invites <strong>${invitation.email}</strong> to the account “${accountName}” as ${roleName(invitation.role).toLowerCase()}.</p>
<input type="hidden" name="offer" value="${token}"><button class="button primary" type="submit">Join “${accountName}”</button></form>`,
  )}<p class="hint">Join only accounts of people you know. Their admins can see your actions.</p><p><a href="${next ?? '/login'}">${next === null ? 'Back to the login' : 'Not now'}</a></p></div>`;
}

/** Page to request a link that sets a password. */
export function forgottenMain({ canMail }: { readonly canMail: boolean }): Html {
  return html`<div class="login"><h1>A new password</h1>${
    canMail
      ? html`<p>Enter your mail address. If it belongs to a member, you will get a link.</p>
<form method="post" action="/login/forgotten">
${textField({ name: 'email', label: 'Mail address', type: 'email', isRequired: true, autocomplete: 'username' })}
<button class="button primary" type="submit">Send the link</button></form>`
      : html`<p>This service has no mail server. Its operator can create a link: <code>picket service reset-password</code>.</p>`
  }<p><a href="/login">Back to the login</a></p></div>`;
}
