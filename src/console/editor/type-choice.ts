import { families } from '@picket/checks/contract/check-type.ts';
import { checkTypes } from '@picket/checks/index.ts';
import { csrfField } from '../elements/form.ts';
import { icon } from '../elements/icon.ts';
import { html, withQuery } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';
import { curlBox, curlType } from './form-actions.ts';

/** Shows the check types to choose from. */
export function chooseType({ viewer, form }: PageCall): View {
  const type = curlType();
  const groups = Map.groupBy(checkTypes, ({ family }) => family);
  const main = html`<p class="crumbs"><a href="/">Overview</a></p>${heading('New check')}
<div class="types">${Object.entries(families).map(
    ([family, title]) =>
      html`<section><h2>${title}</h2><ul>${(groups.get(family as keyof typeof families) ?? []).map(
        ({ name, title: word, icon: sign, purpose }) =>
          html`<li><a href="${withQuery('/checks/new', { type: name })}">${icon(sign)}<span><b>${word}</b> <span class="soft">${purpose}</span></span></a></li>`,
      )}</ul></section>`,
  )}</div>
${type ? html`<form class="form after" method="post" action="/checks/new">${csrfField(viewer)}<input type="hidden" name="$type" value="${type.name}">${curlBox(form, undefined, '')}</form>` : ''}
<p class="soft">Related checks can share settings in <a href="/groups">groups</a>.</p>`;
  return { title: 'New check', main };
}
