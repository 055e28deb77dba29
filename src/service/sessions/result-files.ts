import type { z } from 'zod';
import { HttpDetail, type HttpLogEntry } from '../../checks/http/detail.ts';
import { findCheckType } from '../../checks/index.ts';
import type { ResultRow } from '../results/tables.ts';

type LogLine = z.output<typeof HttpLogEntry>;
type Fields = Readonly<Record<string, unknown>>;
type Stored = Pick<ResultRow, 'check_type' | 'detail'>;

const stages = ['setup', 'request', 'teardown'] as const;

/** What a run wrote, stage after stage. */
export function logLines(row: Stored): LogLine[] {
  const { jobLog } = detailOf(row);
  if (Array.isArray(jobLog)) return jobLog as LogLine[];
  return stages.flatMap((stage) => stageOf(jobLog, stage));
}

/**
 * The log of a result as clients of the field read it: by stage for requests that scripts may stand around,
 * line by line for everything else. It is never null.
 */
export function logFile(row: Stored): LogLine[] | Record<(typeof stages)[number], LogLine[]> {
  if (findCheckType(row.check_type)?.detail !== HttpDetail) return logLines(row);
  const { jobLog } = detailOf(row);
  return {
    setup: stageOf(jobLog, 'setup'),
    request: stageOf(jobLog, 'request'),
    teardown: stageOf(jobLog, 'teardown'),
  };
}

/**
 * What was found out, as clients of the field read it. An answer without what they compute with is left out:
 * they would fail on it, and `requestError` says what was wrong.
 */
export function checkRunData(row: Stored & Pick<ResultRow, 'message'>): Fields {
  const detail = detailOf(row);
  const response = isFields(detail['response']) ? detail['response'] : null;
  const isWhole = response !== null && response['latency'] !== null;
  return {
    ...detail,
    requestError: detail['requestError'] ?? (isWhole || response === null ? null : row.message),
    response: isWhole ? response : null,
    ...(response && 'nameServerInfo' in response ? { nameServerInfo: response['nameServerInfo'] } : {}),
  };
}

function detailOf({ detail }: Stored): Fields {
  return detail === null ? {} : (JSON.parse(detail) as Fields);
}

function stageOf(jobLog: unknown, stage: string): LogLine[] {
  const lines = isFields(jobLog) ? jobLog[stage] : undefined;
  return Array.isArray(lines) ? (lines as LogLine[]) : [];
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
