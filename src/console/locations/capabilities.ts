import { findCheckType } from '@picket/checks/index.ts';
import type { LocationAgent } from '@picket/protocol/locations/location-agent.ts';
import { counted, shortened } from '../elements/format.ts';
import { type Html, html } from '../html.ts';

/** Methods as agents report them, in other words; the rest of a method stays as it is. */
const methods: readonly (readonly [reported: string, words: string])[] = [
  ['uid+namespaces,', 'isolated by users and namespaces,'],
  ['user-namespaces,', 'isolated by user namespaces,'],
  ['uid,', 'isolated by users,'],
  ['none,', 'not isolated,'],
  ['ICMP datagram sockets', 'without root, by datagram sockets'],
];

function methodWords(method: string): string {
  const known = methods.find(([reported]) => method.startsWith(reported));
  return known ? `${known[1]}${method.slice(known[0].length)}` : method;
}

type Capable = Pick<
  LocationAgent,
  'checkTypes' | 'backends' | 'unavailable' | 'runtimes' | 'browsers' | 'trustedKeys'
>;

/** Shows what an agent can run in the words of the field, and why not, where it cannot. */
export function capabilitiesOf({
  checkTypes,
  backends,
  unavailable,
  runtimes,
  browsers,
  trustedKeys,
}: Capable): Html {
  const titleOf = (type: string) => findCheckType(type)?.title ?? shortened(type, 40);
  const types = checkTypes.toSorted((left, right) => titleOf(left).localeCompare(titleOf(right)));
  // Types that work in one manner share a line: "Browser, Multi-step (own user and namespaces)".
  const byMethod = Map.groupBy(types, (type) => backends[type] ?? '');
  const works = [...byMethod].map(
    ([method, own]) =>
      html`<li>${own.map(titleOf).join(', ')}${method === '' ? '' : html` <span class="soft">(${methodWords(shortened(method, 120))})</span>`}</li>`,
  );
  const missing = Object.entries(unavailable);
  const signed =
    trustedKeys === null
      ? ''
      : trustedKeys.length === 0
        ? html`<p class="small">No checks: all of its keys are revoked</p>`
        : html`<p class="small">Only checks signed with ${trustedKeys.map(({ id }, index) => html`${index === 0 ? '' : ' or '}<code>${shortened(id, 16)}</code>`)}</p>`;
  const runs = html`<details class="fold"><summary>${counted(types.length, 'type')}</summary><ul class="plain small">${works}${
    runtimes.length === 0 ? '' : html`<li>Runtimes ${runtimes.join(', ')}</li>`
  }${
    browsers.length === 0
      ? ''
      : html`<li>Browsers ${browsers.map(({ name, version }) => `${name} ${version}`).join(', ')}</li>`
  }</ul></details>`;
  if (missing.length === 0) return html`${runs}${signed}`;
  return html`${runs}${signed}<details class="fold"><summary>Cannot run ${counted(missing.length, 'type')}</summary><ul class="plain small">${missing.map(
    ([type, why]) => html`<li><b>${titleOf(type)}</b>: ${shortened(why, 300)}</li>`,
  )}</ul></details>`;
}
