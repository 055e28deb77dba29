import { type Html, html } from '../html.ts';
import type { PageCall } from '../page.ts';
import { startPath } from './examples.ts';

/** Content of the overview of an account without checks: it leads to the first steps. */
export function firstSteps(_call: PageCall): Html {
  return html`<div class="first-steps"><p>Four steps to a check that alerts you: connect an agent, check a URL, get an alert, publish a status page.</p>
<p class="actions"><a class="button primary" href="${startPath}">Get started</a> <a class="button" href="/checks/new">Create a check</a></p></div>`;
}
