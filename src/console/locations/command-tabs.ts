import { copyable, copyBox } from '../elements/copy.ts';
import { type Html, html } from '../html.ts';
import type { PageCall } from '../page.ts';
import { serviceAddress } from './address.ts';
import { startCommands } from './commands.ts';

/** Shows a new key once, in the commands that start an agent with it. Choosing a tab needs no script. */
export function commandTabs(
  call: Pick<PageCall, 'publicUrl' | 'request'>,
  { key, slugName }: { readonly key: string; readonly slugName: string },
): Html {
  const commands = startCommands({ key, service: serviceAddress(call), name: `${slugName}-1`.toLowerCase() });
  return html`<div class="command-tabs" role="group" aria-label="Ways to start an agent">${commands.map(
    ({ id, title }, index) =>
      html`<input type="radio" name="start-with" id="start-with-${id}" value="${id}"${index === 0 ? html` checked` : ''}><label for="start-with-${id}">${title}</label>`,
  )}${commands.map(
    ({ id, title, steps }) =>
      html`<div class="command-tab command-tab-${id}">${steps.map(
        ({ says, text, file }, index) =>
          html`<p class="small">${says}</p>${copyBox(text, file ?? `command ${index + 1} for ${title}`)}`,
      )}</div>`,
  )}</div>
<p class="small soft">The key alone: ${copyable(key, 'the key')}. It is shown only now: Picket stores no copy of it.</p>`;
}
