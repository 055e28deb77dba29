import { textField } from '../../elements/form.ts';
import { type Html, html } from '../../html.ts';

/** Form for the mail address of a status-page subscriber. */
export function subscribeForm(
  action: string,
  refused?: { readonly address: string; readonly error: string },
): Html {
  return html`<section id="subscribe"><h2>Subscribe</h2><form class="form" method="post" action="${action}">${textField(
    {
      name: 'address',
      label: 'Mail address',
      type: 'email',
      value: refused?.address ?? '',
      isRequired: true,
      autocomplete: 'email',
      hint: 'You get mails about incidents and maintenance after you confirm. Every mail has a link to unsubscribe.',
      error: refused?.error,
    },
  )}<button class="button primary" type="submit">Subscribe</button></form></section>`;
}
