import type { Viewer } from '@picket/service/logins/sessions.ts';
import { csrfField, selectField, textField } from '../elements/form.ts';
import type { Problems } from '../forms/problems.ts';
import { type Html, html } from '../html.ts';

/** Lengths of a silence that forms offer, in minutes. */
export const silenceLengths = [
  { value: '30', word: '30 minutes' },
  { value: '60', word: '1 hour' },
  { value: '240', word: '4 hours' },
  { value: '1440', word: '1 day' },
  { value: '10080', word: '1 week' },
] as const;

/** Words for a length in minutes. */
export function lengthWord(minutes: number): string {
  return silenceLengths.find(({ value }) => value === String(minutes))?.word ?? `${minutes} minutes`;
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
${selectField({ name: 'minutes', label: 'For', choices: silenceLengths, error: refused?.fields.get('endsAt') })}
${textField({ name: 'comment', label: 'Why', hint: 'Visible to others.', error: refused?.fields.get('comment') })}
<button class="button primary" type="submit">Silence</button></form></details>`;
}
