import type { ResultReceipt } from '@picket/protocol/agent/agent.ts';

/** Receipt of a rejected report. */
export function rejected(resultId: string | null, reason: string): ResultReceipt {
  return { resultId, status: 'rejected', reason };
}

/** Result id of an item that is not a valid report. */
export function resultIdIn(item: unknown): string | null {
  if (typeof item !== 'object' || item === null || !('resultId' in item)) return null;
  return typeof item.resultId === 'string' ? item.resultId.slice(0, 128) : null;
}
