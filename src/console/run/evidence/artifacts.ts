import { type AssetType, assetTypeOf } from '@picket/protocol/results/artifact.ts';
import type { CheckResult } from '@picket/protocol/results/check-result.ts';
import { artifactKey } from '@picket/service/results/artifacts/intake.ts';
import { path } from '../../html.ts';
import type { PageCall } from '../../page.ts';

/** A file of a run, stored or not. */
export type Artifact = CheckResult['artifacts'][number];

/** Name of the file with the path to the target of a failed run. */
export const routeFile = 'traceroute.txt';

/** Maximum inline length of a text file. */
const shownBytes = 64 * 1024;

/** Returns the address of a file of a run: its content is from a target or a script, and is not executed there. */
export function fileHref(result: Pick<CheckResult, 'checkId' | 'id'>, name: string): string {
  const inPath = name.split('/').map(encodeURIComponent).join('/');
  return `${path`/checks/${result.checkId}/runs/${result.id}/files/`}${inPath}`;
}

/** Returns a name without its folder. */
export function fileOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

export function isReport({ contentType }: Artifact): boolean {
  return /^text\/html\b/i.test(contentType);
}

/** The stored files of a run, by kind. */
export class StoredFiles {
  readonly all: readonly Artifact[];

  constructor({ artifacts }: Pick<CheckResult, 'artifacts'>) {
    this.all = artifacts.filter(({ state }) => state === 'stored');
  }

  ofType(type: AssetType): readonly Artifact[] {
    return this.all.filter(({ name, contentType }) => assetTypeOf(name, contentType) === type);
  }

  named(name: string): Artifact | undefined {
    return this.all.find((one) => one.name === name);
  }
}

/** How a file opens in the browser: a report in its sandbox, a trace in Playwright's viewer. */
export interface Opening {
  /** null: the trace viewer is not available here. */
  readonly href: string | null;
  readonly kind: 'report' | 'trace';
}

/** Returns the files that open in the browser, by name. */
export async function openingsOf(
  { links, viewer }: PageCall,
  { checkId, id }: CheckResult,
  files: StoredFiles,
): Promise<ReadonlyMap<string, Opening>> {
  const reports = files.all.filter(isReport);
  const traces = files.ofType('trace').filter((one) => !isReport(one));
  if (reports.length + traces.length === 0) return new Map();
  const hrefOf = await links.of(viewer, { checkId, resultId: id });
  return new Map<string, Opening>([
    ...reports.map(({ name }) => [name, { kind: 'report', href: hrefOf(name) }] as const),
    ...traces.map(({ name }) => [name, { kind: 'trace', href: links.traceViewer(hrefOf(name)) }] as const),
  ]);
}

/** Returns the beginning of a stored text file. */
export async function readText(
  { store, artifactStore }: PageCall,
  result: CheckResult,
  name: string,
): Promise<string> {
  const rows = (await store.artifacts.ofResults([result.id])).get(result.id) ?? [];
  const row = rows.find((one) => one.name === name && one.state === 'stored');
  const last = Math.min(row?.size_bytes ?? 0, shownBytes) - 1;
  const content =
    row && last >= 0 ? await artifactStore.open(artifactKey(row), { first: 0, last }) : undefined;
  if (!content) return 'The stored file is missing.';
  const chunks: Buffer[] = [];
  for await (const chunk of content) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
