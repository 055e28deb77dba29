import { greatestOf } from '@picket/lib/bounds/extremes.ts';
import type { MaintenanceStatus } from '@picket/protocol/pages/maintenance.ts';
import {
  lastEnd,
  latestStarted,
  type Occurrence,
  occurrence,
  occurrencesFrom,
  type RepeatRule,
  ruleOf,
} from './rule.ts';
import type { MaintenanceRow } from './tables.ts';

/**
 * A maintenance: one occurrence of a window, as its rule defines it or as users changed it. Its times are its scheduled
 * dates; an IN_PROGRESS update before the start begins it earlier, a COMPLETED or CANCELLED update ends it. The window
 * affects checks between the two instants in `effect`.
 */
export interface PlannedMaintenance {
  /** Number of the occurrence, starting at 1. */
  readonly id: number;
  /** Epoch milliseconds. */
  readonly startsAt: number;
  readonly endsAt: number;
  readonly effect: { readonly from: number; readonly to: number };
  /** When it was over: according to updates, otherwise its end. */
  readonly overAt: number;
  /** Last status that an update set; null if none did. */
  readonly stated: MaintenanceStatus | null;
}

/** Whether the status of maintenances follows their dates; otherwise updates set it. */
export interface StatusRule {
  readonly autoStart: boolean;
  readonly autoEnd: boolean;
}

/** How long a maintenance that does not end automatically stays open after its end without an update. */
export const longestOverrunMs = 30 * 86_400_000;

/**
 * Status of a maintenance at an instant: SCHEDULED, then IN_PROGRESS from its start (or, without `autoStart`, from an
 * update that says so), then COMPLETED from its end (without `autoEnd`, from such an update). VERIFYING is set only by
 * updates and counts as in progress. COMPLETED and CANCELLED, once set, stay until an update sets another status.
 */
export function statusAt(
  { stated, startsAt, endsAt }: PlannedMaintenance,
  instant: number,
  { autoStart, autoEnd }: StatusRule,
): MaintenanceStatus {
  if (stated === 'CANCELLED' || stated === 'COMPLETED') return stated;
  if (instant >= endsAt + (autoEnd ? 0 : longestOverrunMs)) return 'COMPLETED';
  if (stated === 'VERIFYING' || stated === 'IN_PROGRESS') return stated;
  return autoStart && instant >= startsAt ? 'IN_PROGRESS' : 'SCHEDULED';
}

/** All maintenances of one window: occurrences of its rule, replaced by their changed versions. */
export class MaintenanceCalendar {
  readonly #rule: RepeatRule;
  readonly #changes: ReadonlyMap<number, MaintenanceRow>;
  /** Changed occurrences that were not deleted, soonest first. */
  readonly #changed: readonly PlannedMaintenance[];

  constructor(definition: Readonly<Record<string, unknown>>, changes: readonly MaintenanceRow[]) {
    this.#rule = ruleOf(definition);
    this.#changes = new Map(changes.map((row) => [row.occurrence, row]));
    this.#changed = changes
      .flatMap((row) => this.find(row.occurrence) ?? [])
      .sort((left, right) => left.startsAt - right.startsAt || left.id - right.id);
  }

  /** A maintenance by its number, or null if the window does not have it, or no longer has it. */
  find(id: number): PlannedMaintenance | null {
    const planned = occurrence(this.#rule, id - 1);
    const change = this.#changes.get(id);
    if (!planned || change?.is_deleted === 1) return null;
    if (!change) return unchanged(planned);
    const startsAt = change.starts_at ?? planned.startsAt;
    const endsAt = change.ends_at ?? planned.endsAt;
    const effect = {
      from: Math.min(startsAt, change.begun ?? startsAt),
      to: Math.min(endsAt, change.ended ?? endsAt),
    };
    return { id, startsAt, endsAt, effect, overAt: change.ended ?? endsAt, stated: change.stated };
  }

  /** Whether any maintenance is in effect at an instant; ends are exclusive. */
  isInEffect(instant: number): boolean {
    return this.inEffectUntil(instant) !== null;
  }

  /** End of the maintenance in effect at an instant, the latest one if there are several; null if no maintenance is. */
  inEffectUntil(instant: number): number | null {
    return this.#lastEndWithin({ from: instant, to: instant });
  }

  /** Whether any maintenance is in effect at any time in a span, including its ends. */
  isInEffectWithin(span: { readonly from: number; readonly to: number }): boolean {
    return this.#lastEndWithin(span) !== null;
  }

  #lastEndWithin({ from, to }: { readonly from: number; readonly to: number }): number | null {
    const ends = this.#changed
      .filter(({ effect }) => effect.from <= to && from < effect.to)
      .map(({ effect }) => effect.to);
    // Later occurrences end later. Long occurrences can overlap by the million.
    for (let index = latestStarted(this.#rule, to) ?? -1; index >= 0; index -= 1) {
      const planned = occurrence(this.#rule, index);
      if (planned && planned.endsAt <= from) break;
      if (!planned || this.#changes.has(index + 1)) continue;
      ends.push(planned.endsAt);
      break;
    }
    return ends.length === 0 ? null : greatestOf(ends);
  }

  /**
   * A page of the maintenances that end after an instant, soonest first. The cost does not grow with the offset: only
   * the neighbourhood of the page is examined.
   */
  from(instant: number, page: { readonly limit: number; readonly offset: number }): PlannedMaintenance[] {
    const moved = this.#changed.filter(({ endsAt }) => endsAt > instant);
    const [first] = occurrencesFrom(this.#rule, instant);
    // At least this many of the rule's own occurrences come before the page, wherever the moved ones lie.
    const skipped = Math.max(0, page.offset - moved.length);
    const own = this.#unchangedFrom(first?.index ?? Number.POSITIVE_INFINITY, skipped);
    let next = own.next().value;
    let place = skipped;
    const reached = skipped === 0 ? Number.NEGATIVE_INFINITY : (next?.startsAt ?? Number.POSITIVE_INFINITY);
    const queue = moved.filter(({ startsAt }) => startsAt >= reached);
    place += moved.length - queue.length;
    const shown: PlannedMaintenance[] = [];
    for (; shown.length < page.limit; place += 1) {
      const [change] = queue;
      const isChangeNext = change !== undefined && (!next || change.startsAt < next.startsAt);
      const one = isChangeNext ? change : next;
      if (!one) break;
      if (isChangeNext) queue.shift();
      else next = own.next().value;
      if (place >= page.offset) shown.push(one);
    }
    return shown;
  }

  /** Unchanged occurrences of the rule, starting at an index, without the first `skipped`. */
  *#unchangedFrom(index: number, skipped: number): Generator<PlannedMaintenance, undefined> {
    // Changed occurrences take no position: each one before the position shifts it by one.
    let start = index + skipped;
    const taken = [...this.#changes.keys()].map((id) => id - 1).sort((left, right) => left - right);
    for (const changed of taken) if (changed >= index && changed <= start) start += 1;
    for (let at = start; ; at += 1) {
      const planned = occurrence(this.#rule, at);
      if (!planned) return;
      if (!this.#changes.has(at + 1)) yield unchanged(planned);
    }
  }

  /** Start of the first and end of the last occurrence, as stored with the window; null if there is no last one. */
  bounds(): { readonly startsAt: number; readonly lastEndsAt: number | null } {
    const last = lastEnd(this.#rule);
    return {
      startsAt: Math.min(this.#rule.startsAt, ...this.#changed.map(({ effect }) => effect.from)),
      lastEndsAt: last === null ? null : Math.max(last, ...this.#changed.map(({ endsAt }) => endsAt)),
    };
  }
}

function unchanged({ index, startsAt, endsAt }: Occurrence): PlannedMaintenance {
  const effect = { from: startsAt, to: endsAt };
  return { id: index + 1, startsAt, endsAt, effect, overAt: endsAt, stated: null };
}
