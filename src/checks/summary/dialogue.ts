import { durationText } from '@picket/lib/figures/duration.ts';
import type { SummaryMessage, SummarySection } from './detail-summary.ts';
import { fact, inWords } from './parts.ts';

/** Converts a line or message of an exchange by steps. */
export function dialogueMessage(message: {
  readonly direction: 'SENT' | 'RECEIVED';
  readonly atMs: number;
  readonly text: string;
  readonly step: number | null;
  readonly truncated: boolean;
  /** Additional information, such as its size. */
  readonly about?: string;
}): SummaryMessage {
  const { direction, atMs, text, step, truncated, about } = message;
  const note = [step === null ? 'matched no step' : `step ${step}`, about, truncated ? 'cut' : undefined];
  return { isSent: direction === 'SENT', atMs, text, note: note.filter(Boolean).join(', ') };
}

/** Converts the steps of an exchange and their results. */
export function dialogueSteps<Type extends string>(
  steps: readonly {
    readonly type: Type;
    readonly state: 'DONE' | 'FAILED' | 'NOT_REACHED';
    readonly waitMs: number;
    readonly skippedCount: number;
  }[],
  words: Readonly<Record<Type, string>>,
  skipped: (count: number) => string,
): SummarySection {
  return {
    title: 'Steps',
    facts: steps.map(({ type, state, waitMs, skippedCount }, index) => {
      const parts = [
        ...(state === 'FAILED' ? [] : [inWords(state)]),
        ...(type === 'SEND' || state === 'NOT_REACHED' ? [] : [`after ${durationText(waitMs)}`]),
        ...(skippedCount === 0 ? [] : [skipped(skippedCount)]),
      ];
      return fact(`${index + 1}. ${words[type]}`, parts.join(', '), state === 'FAILED' ? 'failed' : null);
    }),
  };
}
