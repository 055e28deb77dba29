import { isOpen, parseState } from '@picket/service/alerts/stored-state.ts';
import type { OverviewRow } from '@picket/service/overviews/overview.ts';

/** Returns when a check last stopped passing; null while it passes. */
export function sinceOf({ alertState }: Pick<OverviewRow, 'alertState'>): number | null {
  if (alertState === null) return null;
  const stored = parseState({ state: alertState });
  return isOpen(stored) ? (stored.episodeSince ?? stored.alert.since) : null;
}
