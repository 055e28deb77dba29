import type { PrivateLocation } from '../../../protocol/locations/private-location.ts';
import type { State } from '../elements/state.ts';

/** How a location is: whether anything can be measured there, and whether what is measured can be trusted. */
export interface Health {
  readonly state: State;
  readonly word: string;
  /** Since when; null where nothing says. */
  readonly since: number | null;
}

type Known = Pick<PrivateLocation, 'agentCount' | 'lastSeen' | 'noAgentSince'>;

/**
 * @param lastingSince since when each thing lasts that agents find wrong there at this moment.
 */
export function healthOf(location: Known, lastingSince: readonly number[]): Health {
  const instant = (text: string | null) => (text === null ? null : Date.parse(text));
  if (location.agentCount === 0) {
    return location.lastSeen === null
      ? { state: 'waiting', word: 'No agent yet', since: instant(location.noAgentSince) }
      : { state: 'missed', word: 'No agent', since: instant(location.noAgentSince ?? location.lastSeen) };
  }
  if (lastingSince.length === 0) return { state: 'passed', word: 'Healthy', since: null };
  return { state: 'error', word: 'Unhealthy', since: Math.min(...lastingSince) };
}

/** What can be wrong with a location, in words. */
export function kindWords(kind: string): string {
  const known: Readonly<Record<string, string>> = {
    resolver: 'Its resolver does not answer',
    network: 'Its network is down',
    service: 'It does not reach this service',
    'event-loop': 'The agent gets too little processor time',
    memory: 'The agent is short of memory',
    disk: 'The agent is short of disk',
    descriptors: 'The agent is short of file descriptors',
  };
  return known[kind] ?? kind;
}
