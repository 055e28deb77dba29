import { isMissed, type Span, slotsOf, stepMs } from './history.ts';
import type { HistoryRun } from './history-run.ts';

/** A slot of a check of a history, by the check's index. */
export interface Slot {
  readonly historyRun: HistoryRun;
  readonly index: number;
  readonly isFirst: boolean;
}

/** A run that no agent of its location claimed in time. */
export interface Miss {
  readonly historyRun: HistoryRun;
  readonly index: number;
  readonly place: number;
  readonly slotAt: number;
}

export interface Agenda {
  readonly deeds: HistoryRun[];
  readonly runs: Slot[];
  readonly misses: Miss[];
  readonly returns: { readonly historyRun: HistoryRun; readonly place: number }[];
}

export const nothingDue: Agenda = { deeds: [], runs: [], misses: [], returns: [] };

/** The runs that no agent claims during a location's outage; they reveal that the location has no agents. */
function missesOf(historyRun: HistoryRun, place: number, death: Span) {
  return historyRun.history.checks.flatMap((check, index) => {
    const { intervalMs: waitsMs, isHeartbeat } = check;
    if (isHeartbeat) return [];
    return slotsOf(check, death.to)
      .filter((slotAt) => isMissed(check, place, { slotAt, death }))
      .map((slotAt) => ({ historyRun, index, place, slotAt, waitsMs }));
  });
}

/** Deeds and due slots of all histories, by time; most steps have neither. */
export function agendaOf(historyRuns: readonly HistoryRun[]): ReadonlyMap<number, Agenda> {
  const agenda = new Map<number, Agenda>();
  const at = (time: number): Agenda => {
    // Deeds between two steps are performed at the next step.
    const step = Math.ceil(time / stepMs) * stepMs;
    const known = agenda.get(step) ?? { deeds: [], runs: [], misses: [], returns: [] };
    agenda.set(step, known);
    return known;
  };
  for (const historyRun of historyRuns) {
    const { deeds, checks, endsAt } = historyRun.history;
    for (const { at: time } of deeds) {
      const { deeds: known } = at(time);
      if (known.at(-1) !== historyRun) known.push(historyRun);
    }
    for (const [index, check] of checks.entries()) {
      for (const [count, time] of slotsOf(check, endsAt).entries())
        at(time).runs.push({ historyRun, index, isFirst: count === 0 });
    }
    for (const [place, spans] of historyRun.history.deaths.entries())
      for (const death of spans) {
        at(death.to).returns.push({ historyRun, place });
        for (const miss of missesOf(historyRun, place, death))
          at(miss.slotAt + miss.waitsMs).misses.push(miss);
      }
  }
  return agenda;
}
