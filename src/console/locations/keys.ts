import { type PrivateLocation, privateLocationRoutes } from '@picket/protocol/locations/private-location.ts';
import { ago, counted, instant } from '../elements/format.ts';
import { table } from '../elements/table.ts';
import { actionButton, confirmed } from '../forms/action.ts';
import { type Html, html, path, withQuery } from '../html.ts';
import type { PageCall } from '../page.ts';
import { agentDot } from './agent-dot.ts';
import { commandTabs } from './command-tabs.ts';

/** The current key, and the next one during a rotation. */
export const mostKeys = 2;

/** The keys of a location's agents. */
export const keysSection = { once, table: tableOfKeys };

/** Shows a key that was just created; it is shown only once. */
function once(call: PageCall, location: PrivateLocation, rawKey: string): Html {
  return html`<div class="key-once"><h2>Start an agent</h2>
<p>Run one of these commands. They contain the new key.</p>
${commandTabs(call, { key: rawKey, slugName: location.slugName })}${agentDot(location, withQuery(path`/locations/${location.id}`, { dot: 1 }))}</div>`;
}

function tableOfKeys({ api, viewer }: PageCall, location: PrivateLocation, now: number): Html {
  const here = path`/locations/${location.id}`;
  const mayWrite = api.allows(privateLocationRoutes.createPrivateLocationKey);
  const { keys } = location;
  return html`<section><h2>Keys</h2>
${table({
  caption: 'Keys of the location',
  rows: keys,
  empty: 'No keys, so no agent can connect.',
  columns: [
    { title: 'Key', cell: ({ maskedKey }) => html`<code>${maskedKey}</code>` },
    { title: 'Made', cell: ({ created_at }) => instant(created_at) },
    {
      title: 'Last used',
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : ago(Date.parse(lastUsedAt), now)),
    },
    {
      title: 'Used by',
      cell: ({ agents }) => (agents.length === 0 ? 'no agent now' : counted(agents.length, 'agent')),
    },
    ...(mayWrite
      ? [
          {
            title: 'Actions',
            cell: ({ id, maskedKey, agents }: PrivateLocation['keys'][number]) =>
              confirmed({
                to: `${here}/keys/${encodeURIComponent(id)}/revoke`,
                word: 'Revoke…',
                about: maskedKey,
                confirmWord: 'Revoke the key',
                viewer,
                question: revocation(agents.length, keys.length === 1),
                fields:
                  keys.length === 1 && agents.length > 0
                    ? html`<input type="hidden" name="force" value="true">`
                    : '',
              }),
          },
        ]
      : []),
  ],
})}
${
  mayWrite
    ? html`<div class="actions after">${
        keys.length < mostKeys
          ? actionButton({ to: `${here}/keys`, word: 'Create a key', viewer, isPrimary: keys.length === 0 })
          : html`<p class="hint">A location has at most ${mostKeys} keys: the current one, and the next one during a rotation. Revoke one to create another.</p>`
      }</div>`
    : ''
}</section>`;
}

function revocation(agentCount: number, isLast: boolean): string {
  if (agentCount === 0) return 'No agent uses it now. It cannot be used again.';
  const agents = counted(agentCount, 'agent');
  const then = isLast
    ? 'It is the last key: checks at this location stop until you create another one.'
    : 'Switch them to the other key first.';
  return `${agents} that ${agentCount === 1 ? 'calls' : 'call'} this key now will get no more work. ${then}`;
}
