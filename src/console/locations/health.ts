import type { PrivateLocation } from '@picket/protocol/locations/private-location.ts';
import { ago } from '../elements/format.ts';
import { type State, stateBadge } from '../elements/state.ts';
import { type Html, html } from '../html.ts';

const words = {
  healthy: { state: 'passed', word: 'Healthy' },
  unhealthy: { state: 'error', word: 'Unhealthy' },
  'no-agent': { state: 'missed', word: 'No agent' },
  'never-seen': { state: 'waiting', word: 'No agent yet' },
} as const satisfies Record<PrivateLocation['health']['state'], { state: State; word: string }>;

/** An idle agent calls every 25 seconds: a longer silence is shown before the agent counts as gone. */
const quietMs = 30_000;

/** Shows the health of a location, with its start or the time since the last call. */
export function healthBadge({ health, lastSeen }: Known, now: number): Html {
  const { state, word } = words[health.state];
  const silentMs = lastSeen === null ? 0 : now - Date.parse(lastSeen);
  const more =
    health.since !== null
      ? html`since ${ago(Date.parse(health.since), now)}`
      : silentMs > quietMs
        ? `last seen ${Math.round(silentMs / 1000)} s ago`
        : '';
  return html`${stateBadge(state, word)}${more === '' ? '' : html` <span class="small soft">${more}</span>`}`;
}

type Known = Pick<PrivateLocation, 'health' | 'lastSeen'>;

/** Describes a problem of a location. */
export function kindWords(kind: string): string {
  const known: Readonly<Record<string, string>> = {
    resolver: 'The resolver does not respond',
    network: 'The network is down',
    service: 'The agent cannot reach this service',
    'event-loop': 'The agent gets too little CPU time',
    memory: 'The agent is low on memory',
    disk: 'The agent is low on disk space',
    descriptors: 'The agent is low on file descriptors',
  };
  return known[kind] ?? kind;
}
