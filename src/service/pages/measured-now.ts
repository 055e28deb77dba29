import { isMeasured } from '@picket/protocol/checks/check-state.ts';
import type { StatusPageData } from '@picket/protocol/pages/public-page.ts';
import type { Measurement } from '@picket/protocol/runs/coverage.ts';
import type { StandingCheck } from '../checks/state/states.ts';

/** A service or a component. */
type Part = Pick<StatusPageData['components'][number], 'measuredNow'>;

/**
 * Whether the checks that open the incidents of a part are measured now, based on the same check states as all other
 * views. Paused checks are ignored, unless all are paused. null if no check opens its incidents.
 */
export function measuredNow(
  standing: ReadonlyMap<string, StandingCheck>,
  checkIds: readonly string[] = [],
): Measurement | null {
  const states = checkIds.flatMap((id) => standing.get(id)?.state ?? []);
  if (states.length === 0) return null;
  const active = states.filter((state) => state !== 'paused');
  const count = active.filter(isMeasured).length;
  if (count === 0) return 'NONE';
  return count === active.length ? 'FULL' : 'PARTIAL';
}

/** A page as it is shown while its current state is unknown: none of it is measured. */
export function unmeasured(data: StatusPageData): StatusPageData {
  const blind = <One extends Part>(one: One): One =>
    one.measuredNow === null ? one : { ...one, measuredNow: 'NONE' };
  return {
    ...data,
    components: data.components.map(blind),
    cards: data.cards.map((card) => ({ ...card, services: card.services.map(blind) })),
  };
}

/** Whether a part without an incident is still not known to be operational. */
export function isBlind({ measuredNow: now }: Part): boolean {
  return now === 'NONE' || now === 'PARTIAL';
}

/** Describes unmeasured parts in a few words: `3 of 5 services not measured now`. */
export function blindWords(parts: readonly Part[], count: (several: number) => string): string {
  const none = parts.filter(({ measuredNow: now }) => now === 'NONE').length;
  const blind = none > 0 ? none : parts.filter(isBlind).length;
  const which = parts.length === 1 ? '' : `${blind} of ${count(parts.length)} `;
  return `${which}${none > 0 ? 'not measured' : 'measured in part'} now`;
}
