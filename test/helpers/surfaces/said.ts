import { states } from '../../../src/console/elements/state.ts';
import type { CheckState } from '../../../src/protocol/checks/check-state.ts';
import { shownStates } from '../../../src/service/overviews/states.ts';

/** The state of one check on one surface. */
export type Said = CheckState | null;

/** Fetches a path of the service. */
export type Read = (path: string, init?: RequestInit) => Promise<string>;

/** The checks under test. */
export interface Watched {
  readonly ids: readonly string[];
  readonly names: ReadonlyMap<string, string>;
}

/** The state that pages show with this CSS class. */
export function stateShownAs(shown: string): Said {
  if (!(shown in states)) return null;
  const found = Object.entries(shownStates).find(([, state]) => state === shown);
  return (found?.[0] ?? null) as Said;
}

/** The states that a page shows next to headings, by the heading's text. */
export function shownIn(page: string): [string, Said][] {
  const parts = page.matchAll(/<h3>([^<]*)<\/h3><span class="state state-(\w+)"/g);
  return [...parts].map(([, name = '', shown = '']) => [name, stateShownAs(shown)]);
}

export function sameOfAll(ids: readonly string[], said: Said | undefined): Map<string, Said> {
  return new Map(said === undefined ? [] : ids.map((id) => [id, said]));
}
