import { checkTypes } from '@picket/checks/index.ts';
import { csrfField } from '../elements/form.ts';
import { html, withQuery } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';
import { curlBox, curlType } from './form-actions.ts';

/** Shows the check types to choose from. */
export function chooseType({ viewer, form }: PageCall): View {
  const type = curlType();
  const main = html`<p class="crumbs"><a href="/">Overview</a></p>${heading('New check')}
<p class="lead soft">Choose a check type</p>
<ul class="choices">${checkTypes.map(({ name, title }) => html`<li><a class="button" href="${withQuery('/checks/new', { type: name })}">${title}</a></li>`)}</ul>
${type ? html`<form class="form after" method="post" action="/checks/new">${csrfField(viewer)}<input type="hidden" name="$type" value="${type.name}">${curlBox(form, undefined, '')}</form>` : ''}
<p class="soft">Related checks can share settings in <a href="/groups">groups</a>.</p>`;
  return { title: 'New check', main };
}
