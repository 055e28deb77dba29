import { csrfField } from '../elements/form.ts';
import { menu } from '../elements/menu.ts';
import { type Html, html } from '../html.ts';
import type { PageCall } from '../page.ts';
import { mayChange, mayRun } from './bulk.ts';

/** Whether the viewer's role allows anything that the form of several checks offers. */
export function maySelect(call: PageCall): boolean {
  return mayChange(call) || mayRun(call);
}

/**
 * The form of several checks, below the table whose checkboxes belong to it. With scripts it is a bar that appears with
 * a selection. Updates of the page leave it alone, so that its open menus and input stay.
 */
export function bulkForm(
  call: PageCall,
  groups: readonly { readonly id: number; readonly name: string }[],
): Html {
  const action = (value: string, word: string, kind = '') =>
    html`<button class="button${kind}" type="submit" name="do" value="${value}">${word}</button>`;
  const changes = () =>
    html`${action('pause', 'Pause')}${action('resume', 'Resume')}${action('mute', 'Mute')}${action('unmute', 'Unmute')}`;
  const tags = () =>
    menu({
      label: 'Tag the selected checks',
      word: 'Tag',
      items: [
        html`<div class="bulk-fields"><label for="bulk-tag">Tag</label><input id="bulk-tag" name="tag" autocomplete="off">${action('tag', 'Add tag')}${action('untag', 'Remove tag')}</div>`,
      ],
    });
  const moves = () =>
    menu({
      label: 'Move the selected checks to a group',
      word: 'Move',
      items: [
        html`<div class="bulk-fields"><label for="bulk-group">Group</label><select id="bulk-group" name="groupId"><option value="">In no group</option>${groups.map(
          ({ id, name }) => html`<option value="${id}">${name}</option>`,
        )}</select>${action('move', 'Move to the group')}</div>`,
      ],
    });
  // The first button is the one that Enter presses in a field: it must not be one that changes all of them.
  return html`<form id="bulk" class="bulk" method="post" action="/checks/selected" hx-morph-skip aria-label="Selected checks">${csrfField(call.viewer)}<button type="submit" name="do" value="" hidden tabindex="-1">Submit</button>
<p class="bulk-count" role="status">With the selected checks:</p>${mayChange(call) ? changes() : ''}${mayRun(call) ? action('run', 'Run now') : ''}${
    mayChange(call) ? html`${tags()}${moves()}${action('delete', 'Delete', ' danger')}` : ''
  }</form>`;
}
