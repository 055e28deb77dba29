import type { Exchanged } from '@picket/probes/steps/steps.ts';
import { toMicroseconds } from '../contract/outcome.ts';

/** Number of lines or messages at either end of a long exchange that a result keeps. */
const keptAtEnds = 100;

/** Returns the beginning and the end of a long exchange. */
export function bothEnds<Said>(conversation: readonly Said[]): readonly Said[] {
  if (conversation.length <= 2 * keptAtEnds) return conversation;
  return [...conversation.slice(0, keptAtEnds), ...conversation.slice(-keptAtEnds)];
}

/** Returns the direction, time and step of a line or message. */
export function placeOf({ isSent, atMs, step }: Exchanged) {
  return {
    direction: isSent ? ('SENT' as const) : ('RECEIVED' as const),
    atMs: toMicroseconds(atMs),
    step: step === undefined ? null : step + 1,
  };
}
