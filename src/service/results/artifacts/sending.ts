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

/** Types that a browser may show by itself: they hold no program. Everything else is saved to a file. */
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
 * The files of a result that are there in whole.
 *
 * @throws AppError NOT_FOUND where the account has no such result.
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

/** What test sessions run need not be a check. */
async function definitionOf({ testDefinitions }: Store, accountId: string, id: string) {
  const check = (await testDefinitions.findMany([id])).get(id)?.check;
  return check?.accountId === accountId ? check : undefined;
}

/** The same of a result that is known to be the caller's. */
export async function storedFilesOf(store: Store, resultId: string): Promise<ArtifactRow[]> {
  const artifacts = (await store.artifacts.ofResults([resultId])).get(resultId) ?? [];
  return artifacts.filter(({ state }) => state === 'stored');
}

/** @throws AppError NOT_FOUND where there is none of that name. */
export function fileNamed(stored: readonly ArtifactRow[], name: string): ArtifactRow {
  const row = stored.find((one) => one.name === name);
  if (!row) throw new AppError('NOT_FOUND', `The result has no artifact "${name}".`);
  return row;
}

/**
 * Sends a file, or the range of it that is asked for, as it comes from the artifact store.
 *
 * @param headers what browsers have to know of it in place of `headersOf`.
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
  // A reader of the headers alone gets no byte of the file, so that none is read.
  await reply.send(
    request.method === 'HEAD' ? Readable.from([]) : await contentOf(row, artifactStore, range),
  );
}

/** Sends a whole file with something before its first byte; it has no ranges then. */
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

/** The type of a file without its parameters, such as `text/html`. */
export function essenceOf({ content_type: type }: Pick<ArtifactRow, 'content_type'>): string {
  return (type.toLowerCase().split(';')[0] ?? '').trim();
}

/**
 * What browsers have to know of bytes that come from targets and scripts: their type is what it says and
 * nothing else (no sniffing), they run nothing (sandbox), and what could hold a program is saved, not shown.
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
