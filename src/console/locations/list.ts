import { type FleetLocation, locationAgentRoutes } from '@picket/protocol/locations/location-agent.ts';
import { type PrivateLocation, privateLocationRoutes } from '@picket/protocol/locations/private-location.ts';
import { type Coverage, measuredShare } from '@picket/protocol/runs/coverage.ts';
import { locationCoverageRoutes } from '@picket/protocol/runs/location-coverage.ts';
import { ago, counted, countText, duration, percent, shortened } from '../elements/format.ts';
import { type State, stateBadge } from '../elements/state.ts';
import { table } from '../elements/table.ts';
import { type Content, html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';
import { refusedSection } from './agents.ts';
import { healthBadge } from './health.ts';

type Row = FleetLocation & {
  readonly known: Pick<PrivateLocation, 'health' | 'lastSeen'>;
  readonly coverage: Coverage | undefined;
};

/** The fleet: all private locations of the account, one row each, those with problems first. */
export async function listLocations({ api, clock }: PageCall): Promise<View> {
  const now = clock.wallMs();
  const [{ locations, refused }, views, coverages] = await Promise.all([
    api.call(locationAgentRoutes.listFleet, {}),
    api.call(privateLocationRoutes.listPrivateLocations, { query: {} }),
    api.call(locationCoverageRoutes.listFleetCoverage, {}),
  ]);
  const viewOf = new Map(views.map((view) => [view.id, view]));
  const coverageOf = new Map(coverages.map(({ slugName, coverage }) => [slugName, coverage]));
  const rows = locations
    .flatMap((location): Row[] => {
      const known = viewOf.get(location.id);
      return known ? [{ ...location, known, coverage: coverageOf.get(location.slugName) }] : [];
    })
    .sort((left, right) => rankOf(left) - rankOf(right) || left.name.localeCompare(right.name));
  const mayWrite = api.allows(privateLocationRoutes.createPrivateLocation);
  const main = html`${heading(
    'Locations',
    mayWrite
      ? html`<div class="actions"><a class="button primary" href="/locations/new">New location</a></div>`
      : '',
  )}
<p class="lead soft">${rows.length === 0 ? 'Places where you run agents. The agents of a location run the checks that select it.' : summaryOf(rows)}</p>
<div class="fleet">${table({
    caption: 'Private locations',
    rows,
    empty: html`No private locations yet. ${mayWrite ? html`<a href="/locations/new">Create one</a>: you get a key and the command that starts an agent.` : 'A member with the role Editor can create one.'}`,
    columns: [
      {
        title: 'Location',
        cell: ({ id, name, slugName }) =>
          html`<a href="${path`/locations/${id}`}">${shortened(name, 60)}</a> <code class="soft">${slugName}</code>`,
      },
      { title: 'State', cell: ({ known }) => healthBadge(known, now) },
      { title: 'Agents', cell: agentCounts },
      { title: 'Versions', cell: versionWords },
      { title: 'Queue', cell: ({ queue }) => queueWords(queue, now) },
      { title: 'Checks', isNumber: true, cell: ({ checks }) => countText(checks) },
      { title: 'Coverage 24 h', isNumber: true, cell: ({ coverage }) => coverageWords(coverage) },
      {
        title: 'Last seen',
        cell: ({ lastSeenAt }) => (lastSeenAt === null ? 'never' : ago(Date.parse(lastSeenAt), now)),
      },
    ],
  })}</div>${refusedSection(refused, now)}`;
  return { main, isLive: true };
}

const ranks: Readonly<Record<PrivateLocation['health']['state'], number>> = {
  'no-agent': 0,
  unhealthy: 1,
  healthy: 2,
  'never-seen': 3,
};

/** Locations that miss runs come first. */
function rankOf({ known, checks }: Row): number {
  const { state } = known.health;
  return state === 'never-seen' && checks > 0 ? 0 : ranks[state];
}

function summaryOf(rows: readonly Row[]): string {
  const sum = (state: 'connected' | 'lost') => rows.reduce((total, { agents }) => total + agents[state], 0);
  const without = rows.filter(({ known, checks }) => known.health.presentAgents === 0 && checks > 0).length;
  return [
    `${counted(sum('connected'), 'agent')} connected at ${counted(rows.length, 'location')}.`,
    without === 0
      ? ''
      : `${counted(without, 'location')} with checks ${without === 1 ? 'has' : 'have'} no agent.`,
    sum('lost') === 0 ? '' : `${counted(sum('lost'), 'agent')} lost in the last 24 hours.`,
  ].join(' ');
}

const shownCounts: readonly (readonly [keyof FleetLocation['agents'], State, string])[] = [
  ['connected', 'passed', 'connected'],
  ['silent', 'degraded', 'silent'],
  ['lost', 'failed', 'lost'],
  ['revoked', 'error', 'with a revoked key'],
  ['refused', 'error', 'refused'],
  ['drained', 'off', 'drained'],
];

function agentCounts({ agents }: Row): Content {
  const shown = shownCounts.filter(([key]) => agents[key] > 0);
  if (shown.length === 0) return '–';
  return html`<span class="agent-counts">${shown.map(([key, state, word]) => stateBadge(state, `${agents[key]} ${word}`))}</span>`;
}

function versionWords({ versions }: Row): Content {
  if (versions.length === 0) return '–';
  const [first] = versions;
  const outdated = versions.filter(({ isOutdated }) => isOutdated);
  const listed = versions.map(({ version, count }) => `${shortened(version, 24)} (${count})`).join(', ');
  const text = versions.length === 1 ? shortened(first?.version ?? '', 24) : `${versions.length} versions`;
  return html`<span title="${listed}">${text}</span>${outdated.length === 0 ? '' : html` ${stateBadge('degraded', 'Outdated')}`}`;
}

function queueWords({ queued, inFlight, waitingSince }: FleetLocation['queue'], now: number): string {
  if (queued === 0) return inFlight === 0 ? 'empty' : `${countText(inFlight)} running`;
  const age = waitingSince === null ? '' : `, oldest ${duration(now - Date.parse(waitingSince))}`;
  return `${countText(queued)} waiting${age}`;
}

function coverageWords(coverage: Coverage | undefined): string {
  const share = coverage && measuredShare(coverage);
  return share === undefined || share === null ? '–' : percent(share);
}
