import type { ResultReceipt } from '@picket/protocol/agent/agent.ts';

/** The receipt of a report that is not taken. */
export function rejected(resultId: string | null, reason: string): ResultReceipt {
  return { resultId, status: 'rejected', reason };
}

/** The id that something has which is no report. */
export function resultIdIn(item: unknown): string | null {
  if (typeof item !== 'object' || item === null || !('resultId' in item)) return null;
  return typeof item.resultId === 'string' ? item.resultId.slice(0, 128) : null;
}
