import type { WindowDefinition } from '../../protocol/pages/maintenance-window.ts';
import type { Repositories } from '../repositories.ts';
import { MaintenanceCalendar } from './calendar.ts';
import type { StoredWindow } from './window-store.ts';

interface LoadedWindow {
  readonly accountId: string;
  readonly calendar: MaintenanceCalendar;
  readonly definition: WindowDefinition;
}

/** What the windows of some accounts do to checks between two instants (check model 2.7). */
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

  /** Whether scheduled runs of a check are left out. `tags` are the check's own and its group's. */
  pauses(accountId: string, tags: readonly string[], instant: number): boolean {
    return this.#holds(
      accountId,
      instant,
      ({ pauseAllChecks, tags: named }) => pauseAllChecks || meet(named, tags),
    );
  }

  /** Whether alerts of a check are held back; they are not sent later either. */
  silences(accountId: string, tags: readonly string[], instant: number): boolean {
    return this.#holds(
      accountId,
      instant,
      ({ silenceAllAlerts, silenceAlertsTags }) => silenceAllAlerts || meet(silenceAlertsTags, tags),
    );
  }

  /** The names of the windows in effect that concern a check, whatever they do to it. */
  namesInEffect(accountId: string, tags: readonly string[], instant: number): string[] {
    return (this.#windows.get(accountId) ?? []).flatMap(({ calendar, definition }) => {
      const { pauseAllChecks, silenceAllAlerts, silenceAlertsTags, tags: named, name } = definition;
      const concerns =
        pauseAllChecks || silenceAllAlerts || meet(named, tags) || meet(silenceAlertsTags, tags);
      return concerns && calendar.isInEffect(instant) ? [name] : [];
    });
  }

  #holds(accountId: string, instant: number, concerns: (window: WindowDefinition) => boolean): boolean {
    const windows = this.#windows.get(accountId) ?? [];
    return windows.some(({ calendar, definition }) => concerns(definition) && calendar.isInEffect(instant));
  }
}

/** Windows with what was changed of their occurrences. */
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
