import { privateLocationRoutes } from '@picket/protocol/locations/private-location.ts';
import { ago, counted, duration, shortened } from '../elements/format.ts';
import { table } from '../elements/table.ts';
import { html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';
import { healthBadge } from './health.ts';

/** Lists all private locations of the account with their health. */
export async function listLocations({ api, store, viewer, clock }: PageCall): Promise<View> {
  const now = clock.wallMs();
  const locations = await api.call(privateLocationRoutes.listPrivateLocations, {
    query: { versions: 'true' },
  });
  const queues = await store.locationMinutes.queues(now, viewer.accountId);
  const queueOf = Map.groupBy(queues, ({ locationId }) => locationId);
  const mayWrite = api.allows(privateLocationRoutes.createPrivateLocation);
  const rows = locations.map((location) => ({
    ...location,
    queues: queueOf.get(location.id) ?? [],
  }));
  const main = html`${heading(
    'Locations',
    mayWrite
      ? html`<div class="actions"><a class="button primary" href="/locations/new">New location</a></div>`
      : '',
  )}
<p class="lead soft">Places where you run agents. The agents of a location run the checks that select it.</p>
${table({
  caption: 'Private locations',
  rows,
  empty: html`No private locations yet. ${mayWrite ? html`<a href="/locations/new">Create one</a>: you get a key and the command that starts an agent.` : 'A member with the role Editor can create one.'}`,
  columns: [
    {
      title: 'Name',
      cell: ({ id, name, slugName }) =>
        html`<a href="${path`/locations/${id}`}">${shortened(name, 80)}</a><br><code class="soft">${slugName}</code>`,
    },
    {
      title: 'State',
      cell: (location) => healthBadge(location, now),
    },
    {
      title: 'Agents',
      cell: ({ health: { presentAgents }, runningAgents = [] }) =>
        presentAgents === 0
          ? '–'
          : html`${counted(presentAgents, 'agent')}<br><span class="small soft">${runningAgents
              .slice(0, 4)
              .map(({ version, isOutdated }) => `${shortened(version, 24)}${isOutdated ? ' (outdated)' : ''}`)
              .join(', ')}</span>`,
    },
    {
      title: 'Queue',
      cell: ({ queues }) => queueWords(queues, now),
    },
    {
      title: 'Last seen',
      cell: ({ lastSeen }) => (lastSeen === null ? 'never' : ago(Date.parse(lastSeen), now)),
    },
  ],
})}`;
  return { main, isLive: true };
}

function queueWords(
  queues: readonly { readonly queued: number; readonly waitingSince: number | null }[],
  now: number,
): string {
  const queued = queues.reduce((sum, queue) => sum + queue.queued, 0);
  if (queued === 0) return 'empty';
  const oldest = Math.min(...queues.flatMap(({ waitingSince }) => waitingSince ?? []), now);
  return `${counted(queued, 'run')}, oldest ${duration(now - oldest)}`;
}
