import { greatestOf } from '@picket/lib/bounds/extremes.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { WindowDefinition } from '@picket/protocol/pages/maintenance-window.ts';
import { MaintenanceCalendar } from './calendar.ts';
import type { StoredWindow } from './window-store.ts';

interface LoadedWindow {
  readonly accountId: string;
  readonly calendar: MaintenanceCalendar;
  readonly definition: WindowDefinition;
}

/** Effects of the windows of the given accounts on checks between two instants (check model 2.7). */
export class Maintenance {
  readonly #windows: ReadonlyMap<string, readonly LoadedWindow[]>;

  private constructor(windows: readonly LoadedWindow[]) {
    this.#windows = Map.groupBy(windows, ({ accountId }) => accountId);
  }

  static async load(
    repositories: Pick<Repositories, 'windows' | 'maintenances'>,
    accountIds: readonly string[],
    time: { readonly from: number; readonly to: number },
  ): Promise<Maintenance> {
    return new Maintenance(
      await withCalendars(repositories, await repositories.windows.ofAccountsWithin(accountIds, time)),
    );
  }

  /** Whether scheduled runs of a check are skipped. `tags` are the check's own and its group's. */
  pauses(accountId: string, tags: readonly string[], instant: number): boolean {
    return (this.#windows.get(accountId) ?? []).some(
      ({ calendar, definition }) => pausesAny(definition, tags) && calendar.isInEffect(instant),
    );
  }

  /** Whether scheduled runs of a check are skipped at any time in a span, including its ends. */
  pausesWithin(accountId: string, tags: readonly string[], span: { from: number; to: number }): boolean {
    return (this.#windows.get(accountId) ?? []).some(
      ({ calendar, definition }) => pausesAny(definition, tags) && calendar.isInEffectWithin(span),
    );
  }

  /** Until when alerts of a check are held back; null if no window holds them back. */
  silencedUntil(accountId: string, tags: readonly string[], instant: number): number | null {
    const ends = (this.#windows.get(accountId) ?? []).flatMap(({ calendar, definition }) => {
      const { silenceAllAlerts, silenceAlertsTags } = definition;
      const isSilenced = silenceAllAlerts || meet(silenceAlertsTags, tags);
      return (isSilenced ? calendar.inEffectUntil(instant) : null) ?? [];
    });
    return ends.length === 0 ? null : greatestOf(ends);
  }

  /** Names of the windows in effect that concern a check, whatever their effect. */
  namesInEffect(accountId: string, tags: readonly string[], instant: number): string[] {
    return (this.#windows.get(accountId) ?? []).flatMap(({ calendar, definition }) => {
      const { pauseAllChecks, silenceAllAlerts, silenceAlertsTags, tags: named, name } = definition;
      const concerns =
        pauseAllChecks || silenceAllAlerts || meet(named, tags) || meet(silenceAlertsTags, tags);
      return concerns && calendar.isInEffect(instant) ? [name] : [];
    });
  }
}

function pausesAny({ pauseAllChecks, tags: named }: WindowDefinition, tags: readonly string[]): boolean {
  return pauseAllChecks || meet(named, tags);
}

/** Loads the changed occurrences of windows. */
export async function withCalendars(
  repositories: Pick<Repositories, 'maintenances'>,
  windows: readonly StoredWindow[],
): Promise<(LoadedWindow & { readonly id: number })[]> {
  const changes = await repositories.maintenances.changes(windows.map(({ id }) => id));
  return windows.map(({ id, accountId, definition }) => ({
    id,
    accountId,
    calendar: new MaintenanceCalendar(definition, changes.get(id) ?? []),
    definition,
  }));
}

function meet(named: readonly string[], tags: readonly string[]): boolean {
  return named.some((tag) => tags.includes(tag));
}
