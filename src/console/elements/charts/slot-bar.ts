import { failureWords } from '@picket/checks/judging/failure-words.ts';
import { type SlotReason, slotReasons } from '@picket/protocol/runs/slot.ts';
import { path, withQuery } from '../../html.ts';
import { countText, duration, shortened, utc } from '../format.ts';
import type { State } from '../state.ts';
import type { Bar } from './bars.ts';

/** Facts of a slot, from the database or the API. */
export interface SlotFacts {
  readonly id: string;
  readonly checkId: string;
  readonly at: number;
  readonly location: string;
  readonly count: number;
  readonly isOnItsWay: boolean;
  readonly reason: string | null;
  readonly resultId: string | null;
  readonly verdict: 'PASSED' | 'DEGRADED' | 'FAILED' | 'ERROR' | null;
  readonly responseTimeMs: number | null;
  readonly message: string | null;
  readonly code: string | null;
  readonly owner: string | null;
  /** Whether it was run on demand: not part of the schedule, nor of any availability. */
  readonly isOnDemand: boolean;
  /** Milliseconds from the due time to the start of the run, where they are known. */
  readonly startDelayMs?: number | null;
}

/** A run that started this long after its due time is marked as late. */
const lateMs = 10_000;

export function isLate({ startDelayMs = null }: SlotFacts): boolean {
  return startDelayMs !== null && startDelayMs >= lateMs;
}

const statesOfVerdicts = {
  PASSED: 'passed',
  DEGRADED: 'degraded',
  FAILED: 'failed',
  ERROR: 'error',
} as const;

export function slotState({ verdict, isOnItsWay }: Pick<SlotFacts, 'verdict' | 'isOnItsWay'>): State {
  if (verdict !== null) return statesOfVerdicts[verdict];
  return isOnItsWay ? 'waiting' : 'missed';
}

/** Returns the link that explains a slot: its run, or why it has no run; null while it is in progress. */
export function slotHref(slot: SlotFacts): string | null {
  if (slot.resultId !== null) return path`/checks/${slot.checkId}/runs/${slot.resultId}`;
  if (slot.isOnItsWay) return null;
  return withQuery(path`/checks/${slot.checkId}/slots/${slot.id}`, { at: slot.at });
}

/** Describes why a slot was not measured. */
export function reasonWords(reason: string | null): string {
  const known: Readonly<Record<string, string>> = slotReasons;
  return reason === null ? 'The reason is unknown.' : (known[reason as SlotReason] ?? reason);
}

export function slotBar(slot: SlotFacts): Bar {
  const at = `${utc(slot.at)}, ${slot.location}`;
  return {
    ...{ state: slotState(slot), href: slotHref(slot), isOnDemand: slot.isOnDemand },
    title: `${at}: ${slotWords(slot)}`,
  };
}

/** Describes the outcome of a slot. */
export function slotWords(slot: SlotFacts): string {
  const late = isLate(slot) ? `, started ${duration(slot.startDelayMs ?? 0)} late` : '';
  return `${slot.isOnDemand ? 'on demand, ' : ''}${outcomeWords(slot, slotState(slot))}${late}`;
}

function outcomeWords(slot: SlotFacts, state: State): string {
  if (state === 'waiting') return 'in progress';
  if (state === 'missed') {
    const several = slot.count > 1 ? `${countText(slot.count)} runs ` : '';
    return `${several}not measured. ${reasonWords(slot.reason)}`;
  }
  const time = slot.responseTimeMs === null ? '' : ` in ${duration(slot.responseTimeMs)}`;
  if (state === 'passed') return `passed${time}`;
  if (state === 'degraded') return `degraded${time}`;
  const said = slot.message === null ? '' : `: ${shortened(failureWords(slot).sentence, 120)}`;
  return `${state === 'failed' ? 'failed' : 'could not be judged'}${said}`;
}
