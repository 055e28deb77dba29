import type { z } from 'zod';
import { HttpDetail, type HttpLogEntry } from '../../checks/http/detail.ts';
import { findCheckType } from '../../checks/index.ts';
import { isRecord } from '../../lib/json/record.ts';
import { storedValue } from '../../platform/store/stored-json.ts';
import { snapshotKey } from '../results/artifacts/asset-urls.ts';
import type { ArtifactRow, ResultRow } from '../results/tables.ts';

const parsedDetail = storedValue<Fields>('test_results.detail', {});

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
  const response = isRecord(detail['response']) ? detail['response'] : null;
  const isWhole = response !== null && response['latency'] !== null;
  return {
    ...detail,
    requestError: detail['requestError'] ?? (isWhole || response === null ? null : row.message),
    response: isWhole ? response : null,
    ...(response && 'nameServerInfo' in response ? { nameServerInfo: response['nameServerInfo'] } : {}),
  };
}

/** A picture to compare with that a run made anew: where it belongs, and the key it is downloaded by. */
export interface SnapshotFile {
  readonly path: string;
  readonly key: string;
}

/** Those of a result that are stored; 'awaited' while some are on their way. */
export function snapshotFiles(
  row: Stored & Pick<ResultRow, 'id'>,
  files: readonly ArtifactRow[],
): SnapshotFile[] | 'awaited' {
  const { snapshots } = detailOf(row);
  const made = (Array.isArray(snapshots) ? snapshots : []) as { path: string; artifact: string }[];
  const states = new Map(files.map(({ name, state }) => [name, state]));
  if (made.some(({ artifact }) => states.get(artifact) === 'awaited')) return 'awaited';
  return made
    .filter(({ artifact }) => states.get(artifact) === 'stored')
    .map(({ path, artifact }) => ({ path, key: snapshotKey(row.id, artifact) }));
}

/** The message of a result with the keys of its pictures. */
export function withSnapshots(payload: unknown, snapshots: readonly SnapshotFile[]): unknown {
  const { result, ...rest } = payload as { readonly result: { readonly assets: Fields } };
  return { ...rest, result: { ...result, assets: { ...result.assets, snapshots } } };
}

function detailOf({ detail }: Stored): Fields {
  return detail === null ? {} : parsedDetail(detail);
}

function stageOf(jobLog: unknown, stage: string): LogLine[] {
  const lines = isRecord(jobLog) ? jobLog[stage] : undefined;
  return Array.isArray(lines) ? (lines as LogLine[]) : [];
}
