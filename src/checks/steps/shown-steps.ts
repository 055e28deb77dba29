import type { Exchanged } from '@picket/probes/steps/steps.ts';
import { toMicroseconds } from '../contract/outcome.ts';

/** Lines or messages at either end of a long conversation that a result keeps. */
const keptAtEnds = 100;

/** The beginning and the end of a long conversation. */
export function bothEnds<Said>(conversation: readonly Said[]): readonly Said[] {
  if (conversation.length <= 2 * keptAtEnds) return conversation;
  return [...conversation.slice(0, keptAtEnds), ...conversation.slice(-keptAtEnds)];
}

/** Who said a line or a message, when, and which step it belongs to. */
export function placeOf({ isSent, atMs, step }: Exchanged) {
  return {
    direction: isSent ? ('SENT' as const) : ('RECEIVED' as const),
    atMs: toMicroseconds(atMs),
    step: step === undefined ? null : step + 1,
  };
}
