import { type Runtime, runtimeRoutes } from '@picket/protocol/checks/runtime.ts';
import { privateLocationRoutes } from '@picket/protocol/locations/private-location.ts';
import type { z } from 'zod';
import { counted, shortened } from '../elements/format.ts';
import { type State, stateBadge } from '../elements/state.ts';
import { table } from '../elements/table.ts';
import { type Content, html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';
import { settingsTabs } from './tabs.ts';

type RuntimeView = z.output<typeof Runtime.schema>;

const stageStates: Readonly<Partial<Record<RuntimeView['stage'], State>>> = {
  CURRENT: 'passed',
  STABLE: 'passed',
  DEPRECATED: 'degraded',
  REMOVED: 'failed',
};

/** Shows the script runtimes, and the locations whose agents have them. */
export async function showRuntimes({ api }: PageCall): Promise<View> {
  const [runtimes, locations] = await Promise.all([
    api.call(runtimeRoutes.listRuntimes, {}),
    api.call(privateLocationRoutes.listPrivateLocations, { query: { versions: 'true' } }),
  ]);
  const places = locations.map(({ id, name, runningAgents = [] }) => ({
    id,
    name,
    agents: runningAgents.flatMap(({ agents }) => agents),
  }));
  const main = html`${heading('Settings')}${settingsTabs('/settings/runtimes')}
<p class="lead soft">The Node.js version and packages for scripts. An agent has the runtimes of its image. A check runs at a location only if an agent there has its runtime.</p>
${table({
  caption: 'Runtimes, newest first',
  rows: runtimes,
  empty: 'This version of Picket has no runtimes.',
  columns: [
    { title: 'Runtime', cell: ({ name }) => html`<code>${name}</code>` },
    {
      title: 'Stage',
      cell: ({ stage, runtimeEndOfLife }) =>
        html`${stateBadge(stageStates[stage] ?? 'off', stage.toLowerCase())}${runtimeEndOfLife === null ? '' : html` <span class="small soft">until ${runtimeEndOfLife}</span>`}`,
    },
    { title: 'Node.js', cell: ({ nodeJsVersion }) => nodeJsVersion },
    { title: 'Multi-step', cell: ({ multiStepSupport }) => (multiStepSupport ? 'yes' : 'no') },
    { title: 'Available at', cell: ({ name }) => placesWith(name, places) },
    { title: 'Packages', cell: packages },
  ],
})}`;
  return { main };
}

function placesWith(
  runtime: string,
  places: readonly {
    readonly id: string;
    readonly name: string;
    readonly agents: readonly { readonly runtimes: readonly string[] }[];
  }[],
): Content {
  const having = places.flatMap(({ id, name, agents }) => {
    const count = agents.filter(({ runtimes }) => runtimes.includes(runtime)).length;
    if (count === 0) return [];
    const share = count === agents.length ? '' : ` (${count} of ${counted(agents.length, 'agent')})`;
    return [html`<li><a href="${path`/locations/${id}`}">${shortened(name, 60)}</a>${share}</li>`];
  });
  return having.length === 0 ? 'no location' : html`<ul>${having}</ul>`;
}

function packages({ name, dependencies }: RuntimeView): Content {
  const all = Object.entries(dependencies);
  return html`<details><summary aria-label="${counted(all.length, 'package')} of ${name}">${counted(all.length, 'package')}</summary><ul class="plain small">${all.map(
    ([one, version]) => html`<li><code>${one} ${version}</code></li>`,
  )}</ul></details>`;
}
