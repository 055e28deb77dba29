import type { ArtifactRow } from '../tables.ts';

/** Download URL of an artifact: absolute if the public URL of the service is known, else relative. */
export function assetUrl(artifact: ArtifactRow, publicUrl: string | undefined): string {
  return urlOf(`check-results/${artifact.check_id}/${artifact.result_id}`, artifact, publicUrl);
}

/** Same, by the test session that its result belongs to. */
export function sessionAssetUrl(
  testSessionId: string,
  artifact: ArtifactRow,
  publicUrl: string | undefined,
): string {
  return urlOf(`test-sessions/${testSessionId}/results/${artifact.result_id}`, artifact, publicUrl);
}

const snapshot = /^result-([0-9a-f-]{36})-(.+)$/;

/** Key by which clients download a screenshot from a run of a test session. */
export function snapshotKey(resultId: string, name: string): string {
  return `result-${resultId}-${name}`;
}

export function readSnapshotKey(
  key: string,
): { readonly resultId: string; readonly name: string } | undefined {
  const [, resultId, name] = snapshot.exec(key) ?? [];
  return resultId === undefined || name === undefined ? undefined : { resultId, name };
}

function urlOf(result: string, { name }: ArtifactRow, publicUrl: string | undefined): string {
  const path = name.split('/').map(encodeURIComponent).join('/');
  const origin = publicUrl?.replace(/\/+$/, '') ?? '';
  return `${origin}/v1/${result}/assets/${path}`;
}

/**
 * A detail as responses show it: names of artifacts, in the fields that its type declares, become URLs of completely
 * stored ones. Others become null, or are missing from their list.
 */
export function withAssetUrls(
  detail: unknown,
  fields: readonly string[],
  artifacts: readonly ArtifactRow[],
  publicUrl: string | undefined,
): unknown {
  if (fields.length === 0 || typeof detail !== 'object' || detail === null) return detail;
  const urls = new Map(
    artifacts.filter(({ state }) => state === 'stored').map((row) => [row.name, assetUrl(row, publicUrl)]),
  );
  const shown: Record<string, unknown> = { ...detail };
  for (const field of fields) {
    const value = shown[field];
    if (typeof value === 'string') shown[field] = urls.get(value) ?? null;
    else if (Array.isArray(value)) shown[field] = value.flatMap((name) => urls.get(String(name)) ?? []);
  }
  return shown;
}
