import type { Course } from './course.ts';
import { isMissed, type Span, slotsOf, stepMs } from './history.ts';

/** A slot of a check of a history, by the index of the check. */
export interface Slot {
  readonly course: Course;
  readonly index: number;
  readonly isFirst: boolean;
}

/** A run that found no agent at its location in time. */
export interface Miss {
  readonly course: Course;
  readonly index: number;
  readonly place: number;
  readonly slotAt: number;
}

export interface Agenda {
  readonly deeds: Course[];
  readonly runs: Slot[];
  readonly misses: Miss[];
  readonly returns: { readonly course: Course; readonly place: number }[];
}

export const nothingDue: Agenda = { deeds: [], runs: [], misses: [], returns: [] };

/** The runs that wait in vain at a location without an agent, and make it one that is known to be so. */
function missesOf(course: Course, place: number, death: Span) {
  return course.history.checks.flatMap((check, index) => {
    const { intervalMs: waitsMs, isHeartbeat } = check;
    if (isHeartbeat) return [];
    return slotsOf(check, death.to)
      .filter((slotAt) => isMissed(check, place, { slotAt, death }))
      .map((slotAt) => ({ course, index, place, slotAt, waitsMs }));
  });
}

/** What is to be done in each history, and which slots are due, by the time: most of them have neither. */
export function agendaOf(courses: readonly Course[]): ReadonlyMap<number, Agenda> {
  const agenda = new Map<number, Agenda>();
  const at = (time: number): Agenda => {
    // What falls between two steps is done at the next one.
    const step = Math.ceil(time / stepMs) * stepMs;
    const known = agenda.get(step) ?? { deeds: [], runs: [], misses: [], returns: [] };
    agenda.set(step, known);
    return known;
  };
  for (const course of courses) {
    const { deeds, checks, endsAt } = course.history;
    for (const { at: time } of deeds) {
      const { deeds: known } = at(time);
      if (known.at(-1) !== course) known.push(course);
    }
    for (const [index, check] of checks.entries()) {
      for (const [count, time] of slotsOf(check, endsAt).entries())
        at(time).runs.push({ course, index, isFirst: count === 0 });
    }
    for (const [place, spans] of course.history.deaths.entries())
      for (const death of spans) {
        at(death.to).returns.push({ course, place });
        for (const miss of missesOf(course, place, death)) at(miss.slotAt + miss.waitsMs).misses.push(miss);
      }
  }
  return agenda;
}
