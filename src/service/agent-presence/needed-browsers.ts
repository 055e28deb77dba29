import { type OtherBrowserName, otherBrowsers } from '@picket/checks/tables/browsers.ts';
import type { AgentBrowser } from '@picket/protocol/agent/agent.ts';

/**
 * What an agent needs for a run is one text in the ledger, which a claim compares with those that its agent meets: the
 * id of a runtime, a set of browsers, or both (`2026.04 browsers:firefox+webkit`). No id of a runtime begins like a set.
 */
const prefix = 'browsers:';

export interface RunNeed {
  readonly runtimeId: string | null;
  /** Browsers besides Chromium. */
  readonly browsers: string[];
}

/** The text of a need; null if any agent meets it. */
export function needText(runtimeId: string | null, browsers: readonly OtherBrowserName[]): string | null {
  const named = otherBrowsers.filter((name) => browsers.includes(name));
  const parts = [runtimeId ?? [], named.length === 0 ? [] : `${prefix}${named.join('+')}`].flat();
  return parts.length === 0 ? null : parts.join(' ');
}

export function needOfText(text: string | null): RunNeed {
  const parts = text === null ? [] : text.split(' ');
  const set = parts.find((part) => part.startsWith(prefix));
  return {
    runtimeId: parts.find((part) => part !== set) ?? null,
    browsers: set === undefined ? [] : set.slice(prefix.length).split('+'),
  };
}

/** Every need that an agent with these runtimes and browsers meets: each runtime, each set of browsers, and both. */
export function metNeeds(
  runtimes: readonly string[],
  browsers: readonly Pick<AgentBrowser, 'name'>[],
): string[] {
  const sets: OtherBrowserName[][] = [[]];
  for (const name of otherBrowsers) {
    if (browsers.some((one) => one.name === name)) sets.push(...sets.map((set) => [...set, name]));
  }
  return [null, ...runtimes].flatMap((id) => sets.flatMap((set) => needText(id, set) ?? []));
}
