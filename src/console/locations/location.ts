import { findCheckType } from '@picket/checks/index.ts';
import { withoutPassword } from '@picket/lib/text.ts';
import { locationAgentRoutes } from '@picket/protocol/locations/location-agent.ts';
import { locationEventRoutes } from '@picket/protocol/locations/location-event.ts';
import { type PrivateLocation, privateLocationRoutes } from '@picket/protocol/locations/private-location.ts';
import { locationCoverageRoutes } from '@picket/protocol/runs/location-coverage.ts';
import { slotRoutes } from '@picket/protocol/runs/slot.ts';
import { ago, counted, countText, duration, instant, shortened } from '../elements/format.ts';
import { facts, table } from '../elements/table.ts';
import { actionButton, confirmed, problemNotice } from '../forms/action.ts';
import type { Problems } from '../forms/problems.ts';
import { type Content, html, path, withQuery } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';
import { agentDot } from './agent-dot.ts';
import { agentsSection, refusedSection } from './agents.ts';
import { coverageSection } from './coverage.ts';
import { healthBadge, kindWords } from './health.ts';
import { keysSection, mostKeys } from './keys.ts';
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
  const [events, day, week, month, { agents, refused }, queues, minutes] = await Promise.all([
    api.call(locationEventRoutes.listLocationEvents, { params: { id }, query: { limit: shownEvents } }),
    api.call(slotRoutes.countLocationSlots, { params: { id }, query: since(dayMs) }),
    api.call(slotRoutes.countLocationSlots, { params: { id }, query: since(7 * dayMs) }),
    api.call(locationCoverageRoutes.getLocationCoverage, { params: { id } }),
    api.call(locationAgentRoutes.listLocationAgents, { params: { id } }),
    store.locationMinutes.queues(now, viewer.accountId),
    store.locationMinutes.list(location.id, now - chartMs, now),
  ]);
  const main = html`<nav class="crumbs"><a href="/locations">Locations</a></nav>
${heading(shortened(location.name, 200), actions(call, location))}
${problemNotice(done.problems)}
<p class="lead">${healthBadge(location, now)}</p>${call.query.has('dot') ? agentDot(location, withQuery(path`/locations/${id}`, { dot: 1 })) : ''}
${done.newKey === undefined ? '' : keysSection.once(call, location, done.newKey)}
${facts([
  ['Short name, used in check definitions', html`<code>${location.slugName}</code>`],
  ['Last seen', location.lastSeen === null ? 'never' : ago(Date.parse(location.lastSeen), now)],
  ['Proxy', location.proxyUrl === null ? null : html`<code>${withoutPassword(location.proxyUrl)}</code>`],
  ['Asked of its agents', askedOf(location)],
  ['Outdated agents', outdatedOf(location)],
  ['Made', instant(location.created_at)],
])}
${agentsSection({ agents, events, now, asksNothing: askedOf(location) === null }, noAgents(location))}${done.newKey === undefined ? startButton(call, location) : ''}
${refusedSection(refused, now)}
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

/** The settings that the location asks of its agents, in words; null without any. */
function askedOf({ agentSettings }: PrivateLocation): string | null {
  const { checkTypes, probeConcurrency, scriptConcurrency, logLevel, isDraining } = agentSettings;
  const asked = [
    isDraining ? 'take no new runs' : '',
    checkTypes.length === 0
      ? ''
      : `run only ${checkTypes.map((name) => findCheckType(name)?.title ?? name).join(', ')}`,
    probeConcurrency === null ? '' : `at most ${counted(probeConcurrency, 'probe check')} at the same time`,
    scriptConcurrency === null
      ? ''
      : `at most ${counted(scriptConcurrency, 'script check')} at the same time`,
    logLevel === null ? '' : `log level ${logLevel}`,
  ].filter((words) => words !== '');
  return asked.length === 0 ? null : asked.join('; ');
}

/** Start of the time with outdated agents; null while all are current, and for the first hour. */
function outdatedOf({ agentsOutdatedSince: since }: PrivateLocation): Content | null {
  return since === null ? null : html`since ${instant(since)}: upgrade them`;
}

function noAgents({ noAgentSince }: PrivateLocation): Content {
  const since = noAgentSince === null ? '' : html`: runs are missed since ${instant(noAgentSince)}`;
  return html`No agent is connected${since}. If you started one, its log says why it cannot connect.`;
}

/** Offers the commands again: the key of the first ones is not stored. */
function startButton({ api, viewer }: PageCall, { id, keys, health }: PrivateLocation): Content {
  if (health.presentAgents > 0 || keys.length >= mostKeys) return '';
  if (!api.allows(privateLocationRoutes.createPrivateLocationKey)) return '';
  return actionButton({
    to: path`/locations/${id}/keys`,
    word: 'Show the command with a new key',
    viewer,
    isPrimary: true,
  });
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
