import { Readable } from 'node:stream';
import { AppError } from '@picket/lib/errors.ts';
import { type ArtifactStore, parseByteRange } from '@picket/platform/artifact-store/artifact-store.ts';
import type { CallRequest, Reply } from '@picket/platform/feature/exchange.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { ArtifactRow } from '../tables.ts';
import { artifactKey } from './intake.ts';

/** A request for a file of a run. */
export interface FileExchange {
  readonly request: Pick<CallRequest, 'method' | 'headers'>;
  readonly reply: Reply;
  readonly artifactStore: ArtifactStore;
}

/** Types that a browser may display directly, because they contain no program. All others are saved to a file. */
const shownTypes: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'video/webm',
  'video/mp4',
  'text/plain',
  'application/json',
]);

/**
 * Completely stored files of a result.
 *
 * @throws AppError NOT_FOUND if the account has no such result.
 */
export async function storedFiles(
  store: Store,
  { accountId, checkId, resultId }: { accountId: string; checkId: string; resultId: string },
): Promise<ArtifactRow[]> {
  const check =
    (await store.checks.find(accountId, checkId)) ?? (await definitionOf(store, accountId, checkId));
  const result =
    check &&
    ((await store.results.find(check.id, resultId)) ??
      (await store.testSessions.findResult(check.id, resultId)));
  if (!result) throw new AppError('NOT_FOUND', `There is no result ${resultId} of check ${checkId}.`);
  return storedFilesOf(store, result.id);
}

/** Test sessions can run definitions that are not stored checks. */
async function definitionOf({ testDefinitions }: Store, accountId: string, id: string) {
  const check = (await testDefinitions.findMany([id])).get(id)?.check;
  return check?.accountId === accountId ? check : undefined;
}

/** Same, for a result that is known to belong to the caller. */
export async function storedFilesOf(store: Store, resultId: string): Promise<ArtifactRow[]> {
  const artifacts = (await store.artifacts.ofResults([resultId])).get(resultId) ?? [];
  return artifacts.filter(({ state }) => state === 'stored');
}

/** @throws AppError NOT_FOUND if no file has that name. */
export function fileNamed(stored: readonly ArtifactRow[], name: string): ArtifactRow {
  const row = stored.find((one) => one.name === name);
  if (!row) throw new AppError('NOT_FOUND', `The result has no artifact "${name}".`);
  return row;
}

/**
 * Streams a file, or the requested range of it, from the artifact store.
 *
 * @param headers response headers to use instead of `headersOf`.
 */
export async function sendFile(
  row: ArtifactRow,
  { request, reply, artifactStore }: FileExchange,
  headers: Readonly<Record<string, string>> = headersOf(row),
): Promise<void> {
  const sizeBytes = row.size_bytes ?? 0;
  const etag = `"${row.sha256}"`;
  reply.headers({ ...headers, 'accept-ranges': 'bytes', etag });
  const { 'if-none-match': known, 'if-range': ifRange, range: rangeHeader } = request.headers;
  if (known !== undefined && (known === '*' || known.includes(etag))) {
    await reply.code(304).send();
    return;
  }
  const range =
    ifRange === undefined || ifRange === etag ? parseByteRange(rangeHeader, sizeBytes) : undefined;
  if (range === 'unsatisfiable') {
    reply.header('content-range', `bytes */${sizeBytes}`);
    throw new AppError('RANGE_NOT_SATISFIABLE', `The artifact has ${sizeBytes} bytes.`);
  }
  if (range) {
    reply.code(206).header('content-range', `bytes ${range.first}-${range.last}/${sizeBytes}`);
  }
  reply.header('content-length', range ? range.last - range.first + 1 : sizeBytes);
  // A HEAD request gets no bytes, so none are read.
  await reply.send(
    request.method === 'HEAD' ? Readable.from([]) : await contentOf(row, artifactStore, range),
  );
}

/** Streams a whole file after a prefix; ranges are not supported. */
export async function sendFileAfter(
  beginning: Buffer,
  row: ArtifactRow,
  { request, reply, artifactStore, headers }: FileExchange & { readonly headers: Record<string, string> },
): Promise<void> {
  reply.headers({ ...headers, 'content-length': String(beginning.length + (row.size_bytes ?? 0)) });
  if (request.method === 'HEAD') {
    await reply.send(Readable.from([]));
    return;
  }
  const content = await contentOf(row, artifactStore);
  const whole = async function* () {
    yield beginning;
    yield* content;
  };
  await reply.send(Readable.from(whole(), { objectMode: false }));
}

async function contentOf(
  row: ArtifactRow,
  artifactStore: ArtifactStore,
  range?: { readonly first: number; readonly last: number },
): Promise<Readable> {
  const content = await artifactStore.open(artifactKey(row), range);
  if (!content) throw new AppError('STORE_UNAVAILABLE', 'The stored file of the artifact is missing.');
  return content;
}

/** Media type of a file without its parameters, such as `text/html`. */
export function essenceOf({ content_type: type }: Pick<ArtifactRow, 'content_type'>): string {
  return (type.toLowerCase().split(';')[0] ?? '').trim();
}

/**
 * Headers for bytes that come from targets and scripts: browsers must not guess the type (no sniffing) or run anything
 * (sandbox), and types that could contain a program are saved, not displayed.
 */
function headersOf(row: ArtifactRow): Record<string, string> {
  const file = row.name.slice(row.name.lastIndexOf('/') + 1);
  return {
    'content-type': row.content_type,
    'content-disposition': `${shownTypes.has(essenceOf(row)) ? 'inline' : 'attachment'}; filename="${file}"`,
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    'cross-origin-resource-policy': 'same-site',
    'cache-control': 'private, no-cache',
  };
}
