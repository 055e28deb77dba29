import { HttpDetail } from '@picket/checks/http/detail.ts';
import { findCheckType } from '@picket/checks/index.ts';
import type { SummaryLogLine } from '@picket/checks/summary/detail-summary.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import { summaryOf } from '@picket/protocol/results/check-result.ts';
import { snapshotKey } from '../results/artifacts/asset-urls.ts';
import type { ArtifactRow, ResultRow } from '../results/tables.ts';

const parsedDetail = storedValue<Fields>('test_results.detail', {});

type LogLine = Omit<SummaryLogLine, 'stage'>;
type Fields = Readonly<Record<string, unknown>>;
type Stored = Pick<ResultRow, 'check_type' | 'detail'>;

type Stage = 'setup' | 'request' | 'teardown';

/** Log lines of a run, stage after stage. */
export function logLines(row: Stored): LogLine[] {
  return logOf(row).map(withoutStage);
}

/**
 * Log of a result in the format of existing clients: by stage for requests that scripts may surround, as lines for
 * everything else. Never null.
 */
export function logFile(row: Stored): LogLine[] | Record<Stage, LogLine[]> {
  if (findCheckType(row.check_type)?.detail !== HttpDetail.schema) return logLines(row);
  const log = logOf(row);
  const ofStage = (stage: Stage) => log.filter((line) => line.stage === stage).map(withoutStage);
  return { setup: ofStage('setup'), request: ofStage('request'), teardown: ofStage('teardown') };
}

/**
 * Detail of a result in the format of existing clients. A response without the values that they compute with is
 * omitted, because they would fail on it; `requestError` then gives the reason.
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

/** A reference picture that a run recreated: its path, and its download key. */
export interface SnapshotFile {
  readonly path: string;
  readonly key: string;
}

/** Stored reference pictures of a result; 'awaited' while some are pending. */
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

/** The message of a result, with the keys of its pictures. */
export function withSnapshots(payload: unknown, snapshots: readonly SnapshotFile[]): unknown {
  const { result, ...rest } = payload as { readonly result: { readonly assets: Fields } };
  return { ...rest, result: { ...result, assets: { ...result.assets, snapshots } } };
}

function detailOf({ detail }: Stored): Fields {
  return detail === null ? {} : parsedDetail(detail);
}

function logOf(row: Stored): readonly SummaryLogLine[] {
  return summaryOf(row.check_type, detailOf(row))?.log ?? [];
}

function withoutStage({ time, msg, level }: SummaryLogLine): LogLine {
  return { time, msg, level };
}
