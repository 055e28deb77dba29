import { findCheckType } from '@picket/checks/index.ts';
import { withoutPassword } from '@picket/lib/text.ts';
import { locationEventRoutes } from '@picket/protocol/locations/location-event.ts';
import { type PrivateLocation, privateLocationRoutes } from '@picket/protocol/locations/private-location.ts';
import { locationCoverageRoutes } from '@picket/protocol/runs/location-coverage.ts';
import { slotRoutes } from '@picket/protocol/runs/slot.ts';
import {
  agentCapabilities,
  agentCheckTypes,
  agentSeenWindowMs,
  runningSessions,
} from '@picket/service/agent-presence/presence.ts';
import type { AgentRow } from '@picket/service/agent-presence/tables.ts';
import { ago, counted, countText, duration, instant, shortened } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { facts, table } from '../elements/table.ts';
import { confirmed, problemNotice } from '../forms/action.ts';
import type { Problems } from '../forms/problems.ts';
import { type Content, type Html, html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';
import { coverageSection } from './coverage.ts';
import { healthBadge, kindWords } from './health.ts';
import { keysSection } from './keys.ts';
import { chartMs, queueSection } from './queue.ts';
import { slotsSection } from './slots.ts';

const shownEvents = 25;
const dayMs = 86_400_000;

/** Shows a location: its agents, health, missed slots and keys. */
export async function showLocation(
  call: PageCall,
  done: { readonly problems?: Problems; readonly newKey?: string } = {},
): Promise<View> {
  const { api, store, viewer, clock } = call;
  const { id = '' } = call.params;
  const now = clock.wallMs();
  const location = await api.call(privateLocationRoutes.getPrivateLocation, { params: { id } });
  const since = (ms: number) => ({ from: new Date(now - ms).toISOString(), to: new Date(now).toISOString() });
  const [events, day, week, month, agents, queues, minutes] = await Promise.all([
    api.call(locationEventRoutes.listLocationEvents, { params: { id }, query: { limit: shownEvents } }),
    api.call(slotRoutes.countLocationSlots, { params: { id }, query: since(dayMs) }),
    api.call(slotRoutes.countLocationSlots, { params: { id }, query: since(7 * dayMs) }),
    api.call(locationCoverageRoutes.getLocationCoverage, { params: { id } }),
    store.locations.agents([location.id], now - agentSeenWindowMs),
    store.locationMinutes.queues(now, viewer.accountId),
    store.locationMinutes.list(location.id, now - chartMs, now),
  ]);
  const main = html`<nav class="crumbs"><a href="/locations">Locations</a></nav>
${heading(shortened(location.name, 200), actions(call, location))}
${problemNotice(done.problems)}
<p class="lead">${healthBadge(location, now)}</p>
${done.newKey === undefined ? '' : keysSection.once(call.request, done.newKey)}
${facts([
  ['Short name, used in check definitions', html`<code>${location.slugName}</code>`],
  ['Last seen', location.lastSeen === null ? 'never' : ago(Date.parse(location.lastSeen), now)],
  ['Proxy', location.proxyUrl === null ? null : html`<code>${withoutPassword(location.proxyUrl)}</code>`],
  ['Made', instant(location.created_at)],
])}
<section><h2>Agents</h2>${agentTable(call, location, runningSessions(agents))}</section>
${queueSection(
  queues.filter(({ locationId }) => locationId === location.id),
  { minutes, events, now },
)}
${coverageSection(month, location.created_at)}
${slotsSection(day, week)}
<section><h2>Unhealthy times</h2>${table({
    caption: 'Periods in which agents reported the location as unhealthy',
    rows: events,
    empty: 'No agent reported problems at this location.',
    columns: [
      { title: 'Problem', cell: ({ kind }) => kindWords(kind) },
      { title: 'From', cell: ({ startedAt }) => instant(startedAt) },
      {
        title: 'For',
        cell: ({ startedAt, endedAt }) =>
          endedAt === null
            ? html`<b>${duration(now - Date.parse(startedAt))}, still</b>`
            : duration(Date.parse(endedAt) - Date.parse(startedAt)),
      },
      { title: 'Findings of the agent', cell: ({ evidence }) => shortened(evidence, 400) },
      {
        title: 'Runs not judged',
        isNumber: true,
        cell: ({ affectedRuns }) => countText(affectedRuns),
      },
    ],
  })}</section>
${keysSection.table(call, location, now)}`;
  const { problems } = done;
  return {
    title: location.name,
    main,
    ...(problems ? { statusCode: problems.statusCode } : {}),
    // A key shown once must not be replaced by a refresh.
    isLive: call.request.method === 'GET',
  };
}

function actions({ api, viewer }: PageCall, location: PrivateLocation): Content {
  const here = path`/locations/${location.id}`;
  if (!api.allows(privateLocationRoutes.updatePrivateLocation)) return '';
  return html`<div class="row-actions"><a class="button" href="${here}/edit">Edit</a>${confirmed({
    to: `${here}/delete`,
    word: 'Delete…',
    confirmWord: 'Delete the location',
    viewer,
    question: `Its keys stop working, and its agents get no more work. First remove it from all checks. This cannot be undone.`,
  })}</div>`;
}

function agentTable({ api, clock }: PageCall, location: PrivateLocation, agents: readonly AgentRow[]): Html {
  const now = clock.wallMs();
  const mayMakeKeys = api.allows(privateLocationRoutes.createPrivateLocationKey);
  const outdated = new Set(
    location.runningAgents.filter(({ isOutdated }) => isOutdated).map(({ version }) => version),
  );
  return table({
    caption: 'Running agents',
    rows: agents,
    empty: html`No agent is connected${location.noAgentSince === null ? '' : html`: runs are missed since ${instant(location.noAgentSince)}`}. ${mayMakeKeys ? 'To start one, create a new key below and run the command shown with it. ' : ''}If you started one, its log says why it cannot connect.`,
    columns: [
      {
        title: 'Agent',
        cell: ({ agent_id, platform }) =>
          html`<code>${shortened(agent_id, 40)}</code><br><span class="small soft">${shortened(platform, 60)}</span>`,
      },
      {
        title: 'Version',
        cell: ({ version }) =>
          html`${shortened(version, 24)}${outdated.has(version) ? html`<br>${stateBadge('degraded', 'Outdated')}` : ''}`,
      },
      { title: 'Last seen', cell: ({ last_seen }) => ago(last_seen, now) },
      { title: 'Capabilities', cell: (agent) => abilities(agent) },
      {
        title: 'Results lost',
        isNumber: true,
        cell: (agent) => countText(agentCapabilities(agent).droppedResults),
      },
    ],
  });
}

/** Shows the check types of an agent with their backends, and unavailable ones with the reason. */
function abilities(agent: AgentRow): Html {
  const { backends, unavailable, runtimes } = agentCapabilities(agent);
  const titleOf = (type: string) => findCheckType(type)?.title ?? shortened(type, 40);
  const types = agentCheckTypes(agent.check_types).toSorted();
  const missing = Object.entries(unavailable);
  return html`${types.map((type) => {
    const backend = backends[type];
    return html`<span class="tag">${titleOf(type)}${backend === undefined ? '' : `: ${shortened(backend, 60)}`}</span> `;
  })}${runtimes.length === 0 ? '' : html`<span class="tag">Runtimes ${runtimes.join(', ')}</span>`}${
    missing.length === 0
      ? ''
      : html`<details><summary>Cannot run ${counted(missing.length, 'type')}</summary><ul class="plain">${missing.map(([type, why]) => html`<li><b>${titleOf(type)}</b>: ${shortened(why, 300)}</li>`)}</ul></details>`
  }`;
}
