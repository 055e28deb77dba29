import type { CustomDomainState } from '@picket/protocol/pages/page-fields.ts';
import type { Viewer } from '@picket/service/logins/sessions.ts';
import { type Html, html } from '../../html.ts';
import { copyable } from '../copy.ts';
import { csrfField } from '../form.ts';
import { visible } from '../text.ts';

const words: Readonly<Record<CustomDomainState['status'], string>> = {
  PENDING: 'The domain is not verified yet. The page is not available there.',
  PROVEN: 'The domain is verified. The page is available there.',
  LOST: 'The domain is no longer verified.',
};

/** Shows the state of a page's domain, the DNS record to create, and a button to check it. */
export function customDomainSection(
  {
    customDomain,
    customDomainState: state,
  }: {
    readonly customDomain: string | null;
    readonly customDomainState: CustomDomainState | null;
  },
  to: string,
  viewer: Viewer,
): Html | '' {
  if (customDomain === null || state === null) return '';
  const { status, record, cname, problem, servesUntil } = state;
  const alternative =
    cname === null
      ? ''
      : html`<p>Or point the domain here with a CNAME record: <code>${customDomain}</code> → ${copyable(cname, 'the target of the record')}</p>`;
  const how = html`<p>Create this TXT record at the DNS provider of the domain:</p>
<dl class="facts"><div><dt>Name</dt><dd>${copyable(record.name, 'the name of the record')}</dd></div><div><dt>Value</dt><dd>${copyable(record.value, 'the value of the record')}</dd></div></dl>${alternative}`;
  return html`<section id="custom-domain"><h2>Custom domain</h2><p>${words[status]}${
    status === 'LOST' && servesUntil !== null
      ? html` The page stays available there until ${servesUntil.slice(0, 10)}.`
      : ''
  }</p>${problem === null ? '' : html`<p>Last check: ${visible(problem)}</p>`}${status === 'PROVEN' ? '' : how}
<form method="post" action="${to}">${csrfField(viewer)}<button class="button" type="submit">Check now</button></form></section>`;
}
