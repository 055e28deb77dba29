import type { Viewer } from '@picket/service/logins/sessions.ts';
import { csrfField, selectField, textField } from '../elements/form.ts';
import type { Problems } from '../forms/problems.ts';
import { type Html, html } from '../html.ts';

const lengths = [
  { value: '30', word: '30 minutes' },
  { value: '60', word: '1 hour' },
  { value: '240', word: '4 hours' },
  { value: '1440', word: '1 day' },
  { value: '10080', word: '1 week' },
] as const;

/** Form to acknowledge an alert with a comment. */
export function acknowledgeForm(viewer: Viewer, to: string, about: string): Html {
  return html`<details class="confirm"><summary class="button" aria-label="Acknowledge: ${about}">Acknowledge…</summary><form class="confirm-box calm" method="post" action="${to}">${csrfField(viewer)}
<p>Stops reminders and escalation until the check recovers.</p>${comment()}
<button class="button primary" type="submit">Acknowledge</button></form></details>`;
}

/** Form to silence one check. */
export function silenceOfForm(viewer: Viewer, checkId: string, about: string): Html {
  return html`<details class="confirm"><summary class="button" aria-label="Silence: ${about}">Silence…</summary><form class="confirm-box calm" method="post" action="/alerts/silences">${csrfField(viewer)}<input type="hidden" name="checkId" value="${checkId}">
<label>For <select name="minutes">${lengths.map(({ value, word }) => html`<option value="${value}">${word}</option>`)}</select></label>${comment()}
<button class="button primary" type="submit">Silence</button></form></details>`;
}

function comment(): Html {
  return html`<label>Reason (visible to others) <input name="comment" maxlength="1000"></label>`;
}

/** Form to silence all checks with a tag, or a location. */
export function silenceForm(
  viewer: Viewer,
  choices: { readonly tags: readonly string[]; readonly locations: readonly string[] },
  refused?: Problems,
): Html {
  const scopes = [
    ...choices.tags.map((tag) => ({ value: `tag:${tag}`, word: `Checks tagged ${tag}` })),
    ...choices.locations.map((name) => ({ value: `location:${name}`, word: `Location ${name}` })),
  ];
  if (scopes.length === 0) return html``;
  return html`<details${refused ? html` open` : ''}><summary>Silence a tag or a location</summary><form class="form" method="post" action="/alerts/silences">${csrfField(viewer)}
${selectField({ name: 'scope', label: 'What', choices: scopes, error: refused?.fields.get('checkId') })}
${selectField({ name: 'minutes', label: 'For', choices: lengths, error: refused?.fields.get('endsAt') })}
${textField({ name: 'comment', label: 'Why', hint: 'Visible to others.', error: refused?.fields.get('comment') })}
<button class="button primary" type="submit">Silence</button></form></details>`;
}
