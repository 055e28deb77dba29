import { packageVersion } from '@picket/lib/version.ts';
import type { AgentState, LocationAgent, RefusedAgent } from '@picket/protocol/locations/location-agent.ts';
import type { LocationEvent } from '@picket/protocol/locations/location-event.ts';
import semver from 'semver';
import { ago, bytes, counted, countText, duration, shortened } from '../elements/format.ts';
import { type State, stateBadge } from '../elements/state.ts';
import { type Column, table } from '../elements/table.ts';
import { type Content, type Html, html } from '../html.ts';
import { capabilitiesOf } from './capabilities.ts';
import { kindWords } from './health.ts';

const words: Readonly<Record<AgentState, { readonly state: State; readonly word: string }>> = {
  connected: { state: 'passed', word: 'Connected' },
  silent: { state: 'degraded', word: 'Silent' },
  drained: { state: 'off', word: 'Drained' },
  lost: { state: 'failed', word: 'Lost' },
  revoked: { state: 'error', word: 'Key revoked' },
};
/** More agents that are gone are folded: a crash loop leaves a new one each time. */
const mostGone = 5;

export function agentBadge(state: AgentState): Html {
  return stateBadge(words[state].state, words[state].word);
}

interface Shown {
  readonly agents: readonly LocationAgent[];
  readonly events: readonly LocationEvent[];
  readonly now: number;
  /** The location asks nothing of its agents. */
  readonly asksNothing: boolean;
}

/** Shows the agents that are there, then those that are gone, with their last words. */
export function agentsSection({ agents, events, now, asksNothing }: Shown, ifNone: Content): Html {
  const live = agents.filter(({ state }) => state === 'connected' || state === 'silent');
  const gone = agents.filter(({ state }) => state !== 'connected' && state !== 'silent');
  const goneTable = (rows: readonly LocationAgent[], caption: string) =>
    table({ caption, rows, empty: '', columns: goneColumns(events, now) });
  return html`<section id="agents"><h2>Agents</h2>
${table({ caption: 'Agents that are connected', rows: live, empty: ifNone, columns: liveColumns(now, asksNothing) })}
${
  gone.length === 0
    ? ''
    : html`<h3 class="after">Gone in the last 7 days</h3>${goneTable(gone.slice(0, mostGone), 'Agents that are gone')}${
        gone.length > mostGone
          ? html`<details class="fold"><summary>${counted(gone.length - mostGone, 'more agent')}</summary>${goneTable(gone.slice(mostGone), 'More agents that are gone')}</details>`
          : ''
      }`
}</section>`;
}

function liveColumns(now: number, asksNothing: boolean): Column<LocationAgent>[] {
  return [
    {
      title: 'Agent',
      cell: ({ id, platform, state, lastSeenAt, settings }) =>
        html`${agentBadge(state)} <code title="${shortened(platform, 100)}">${shortened(id, 40)}</code>${state === 'silent' ? html` <span class="small soft">${ago(Date.parse(lastSeenAt), now)}</span>` : ''}${settingsNote(settings, asksNothing)}`,
    },
    { title: 'Version', cell: versionCell },
    { title: 'CPU', isNumber: true, cell: cpuCell },
    { title: 'Memory', isNumber: true, cell: memoryCell },
    { title: 'Lanes', cell: lanesCell },
    { title: 'Spool', cell: spoolCell },
    { title: 'Can run', cell: (agent) => capabilitiesOf(agent) },
    { title: 'Results lost', isNumber: true, cell: ({ droppedResults }) => countText(droppedResults) },
  ];
}

/** The settings that an agent applies, where its location asks for any. */
function settingsNote(settings: LocationAgent['settings'], asksNothing: boolean): Content {
  if (asksNothing) return '';
  if (settings === null)
    return html`<br>${stateBadge('degraded', 'Ignores settings')} <span class="small soft">It is older than the settings of locations.</span>`;
  const level = html` <span class="small soft">log level ${shortened(settings.logLevel, 20)}</span>`;
  return html`<br>${settings.isDraining ? stateBadge('off', 'Draining') : ''}${level}`;
}

function goneColumns(events: readonly LocationEvent[], now: number): Column<LocationAgent>[] {
  return [
    {
      title: 'Agent',
      cell: ({ id, state }) => html`${agentBadge(state)} <code>${shortened(id, 40)}</code>`,
    },
    { title: 'Last seen', cell: ({ lastSeenAt }) => ago(Date.parse(lastSeenAt), now) },
    {
      title: 'Was there for',
      cell: ({ firstSeenAt, lastSeenAt }) => duration(Date.parse(lastSeenAt) - Date.parse(firstSeenAt)),
    },
    { title: 'Version', cell: ({ version }) => shortened(version, 24) },
    { title: 'Why', cell: (agent) => lastWords(agent, events) },
  ];
}

/** Explains the end of an agent, as far as the service knows it. */
export function lastWords(
  { id, state, lastSeenAt }: LocationAgent,
  events: readonly LocationEvent[],
): Content {
  const lastSeen = Date.parse(lastSeenAt);
  // A problem that lasted until the end, or ended shortly before it.
  const problem = events.find(
    ({ agentId, startedAt, endedAt }) =>
      agentId === id &&
      Date.parse(startedAt) <= lastSeen &&
      (endedAt === null || Date.parse(endedAt) >= lastSeen - 60_000),
  );
  const reported = problem
    ? html` It last reported: ${kindWords(problem.kind).toLowerCase()} (${shortened(problem.evidence, 200)}).`
    : '';
  switch (state) {
    case 'drained':
      return 'Stopped in order: it finished its runs and signed off.';
    case 'revoked':
      return 'Its key was revoked. Start it with a key of this location.';
    default:
      return html`Vanished without signing off: its process was killed, or its host or network failed.${reported}`;
  }
}

function versionCell({ version, isOutdated }: LocationAgent): Content {
  const advice = versionAdvice(version);
  if (advice === null) return shortened(version, 24);
  return html`${shortened(version, 24)} ${isOutdated ? stateBadge('degraded', 'Outdated') : ''}<span class="small soft">${advice}</span>`;
}

/** Says what to do about a version other than this service's; null for the same one. */
export function versionAdvice(version: string, own: string = packageVersion()): string | null {
  const [theirs, ours] = [semver.parse(version), semver.parse(own)];
  if (!ours || version === own) return null;
  if (!theirs) return `Unknown version: use ${own}`;
  const order = theirs.compare(ours);
  if (order === 0) return null;
  if (order > 0) return `Newer than the service: upgrade the service to ${version}`;
  const behind = ours.major - theirs.major;
  const distance = behind > 0 ? `${counted(behind, 'major version')} behind` : 'Behind the service';
  return `${distance}: use picket:${own} or picket-uptime:${own}`;
}

const unknown = html`<span class="soft" title="The agent is older than this figure">–</span>`;

function cpuCell({ condition }: LocationAgent): Content {
  if (!condition) return unknown;
  const { cpuPercent, hostLoad, hostCores } = condition;
  const load = `host: load ${hostLoad.toFixed(1)} on ${counted(hostCores, 'core')}`;
  const isBusy = hostLoad > hostCores * 1.5;
  return html`<span title="Of one core; ${load}">${cpuPercent === null ? '–' : `${Math.round(cpuPercent)} %`}</span>${isBusy ? html`<br>${stateBadge('degraded', 'Busy host')}` : ''}`;
}

function memoryCell({ condition }: LocationAgent): Content {
  if (!condition) return unknown;
  const { memoryBytes, memoryFreeBytes, memoryLimitBytes } = condition;
  const isLow = memoryFreeBytes < memoryLimitBytes * 0.1;
  return html`<span title="${bytes(memoryFreeBytes)} of ${bytes(memoryLimitBytes)} free">${bytes(memoryBytes)}</span>${isLow ? html`<br>${stateBadge('degraded', 'Low')}` : ''}`;
}

const laneTitles: Readonly<Record<string, string>> = { probe: 'Probes', script: 'Scripts' };

function lanesCell({ condition }: LocationAgent): Content {
  if (!condition) return unknown;
  return Object.entries(condition.lanes).map(
    ([lane, { size, running, queued }], index) =>
      html`${index === 0 ? '' : ', '}${laneTitles[lane] ?? shortened(lane, 20)} ${running}/${size}${queued === 0 ? '' : ` +${queued}`}`,
  );
}

function spoolCell({ condition }: LocationAgent): Content {
  if (!condition) return unknown;
  const { results, sizeBytes, maxBytes, problem } = condition.spool;
  if (problem !== null)
    return html`${stateBadge('degraded', 'In memory')}<br><span class="small">${shortened(problem, 120)}</span>`;
  const waiting = results === 0 ? 'empty' : counted(results, 'result');
  return html`<span title="${bytes(sizeBytes)} of ${bytes(maxBytes)}">${waiting}</span>`;
}

/** Shows agents that were refused for their key. */
export function refusedSection(refused: readonly RefusedAgent[], now: number): Html | '' {
  if (refused.length === 0) return '';
  return html`<section id="refused"><h2>Refused</h2>${table({
    caption: 'Agents that were refused for their key',
    rows: refused,
    empty: '',
    columns: [
      {
        title: 'Agent',
        cell: ({ agentId, version }) =>
          html`${stateBadge('error', 'Refused')} ${agentId === null ? 'unknown' : html`<code>${shortened(agentId, 40)}</code>`} <span class="small soft">${shortened(version ?? '', 24)}</span>`,
      },
      { title: 'Address', cell: ({ address }) => html`<code>${address}</code>` },
      { title: 'Last try', cell: ({ lastTriedAt }) => ago(Date.parse(lastTriedAt), now) },
      { title: 'Since', cell: ({ firstTriedAt }) => ago(Date.parse(firstTriedAt), now) },
      {
        title: 'Why, and what to do',
        cell: ({ reason, maskedKey }) =>
          reason === 'revoked-key'
            ? html`It uses the revoked key <code>${maskedKey}</code>. Start it with a current key, or stop it.`
            : html`It uses the API key <code>${maskedKey}</code>. Agents need the key of a location (pl_…).`,
      },
    ],
  })}</section>`;
}
