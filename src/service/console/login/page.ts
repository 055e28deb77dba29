import { textField } from '../elements/form.ts';
import { type Html, html } from '../html.ts';

/** The login: a key, and where to find the first one. */
export function loginMain({ next, error }: { readonly next: string; readonly error?: string }): Html {
  return html`<div class="login"><h1>Log in</h1>
<form method="post" action="/login"><input type="hidden" name="next" value="${next}">
${textField({
  name: 'key',
  label: 'API key',
  type: 'password',
  isRequired: true,
  autocomplete: 'current-password',
  error,
  hint: html`What you may do here is what the key may do.`,
})}
<button class="button primary" type="submit">Log in</button></form>
<details><summary>Where is my key?</summary>
<p>The first key of a new service is in the file <code>api-key</code> of its data folder; <code>npm start</code> keeps it in <code>.picket/api-key</code>. <code>picket service add-key</code> makes more, with the roles they need.</p></details></div>`;
}
