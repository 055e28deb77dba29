import { type OtherBrowserName, otherBrowsers } from '@picket/checks/tables/browsers.ts';
import type { AgentBrowser } from '@picket/protocol/agent/agent.ts';

/**
 * What an agent needs for a run is one text in the ledger, which a claim compares with those that its agent meets: the
 * id of a runtime, or a set of browsers. No id of a runtime begins like a set.
 */
const prefix = 'browsers:';

/** The need of a run that opens these browsers; null for none. */
export function browserNeed(names: readonly OtherBrowserName[]): string | null {
  return names.length === 0
    ? null
    : `${prefix}${otherBrowsers.filter((name) => names.includes(name)).join('+')}`;
}

/** The browsers of a need; undefined if it is a runtime, or nothing. */
export function browsersOfNeed(need: string | null): readonly string[] | undefined {
  return need?.startsWith(prefix) ? need.slice(prefix.length).split('+') : undefined;
}

/** Every need that an agent with these browsers meets: each set of them. */
export function metBrowserNeeds(browsers: readonly Pick<AgentBrowser, 'name'>[]): string[] {
  const sets: OtherBrowserName[][] = [[]];
  for (const name of otherBrowsers) {
    if (browsers.some((one) => one.name === name)) sets.push(...sets.map((set) => [...set, name]));
  }
  return sets.flatMap((set) => browserNeed(set) ?? []);
}
