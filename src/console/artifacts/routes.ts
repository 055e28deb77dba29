import { AppError } from '@picket/lib/errors.ts';
import type { ArtifactStore } from '@picket/platform/artifact-store/artifact-store.ts';
import type { RawTransfers } from '@picket/platform/http/bodies/raw-transfers.ts';
import type { Store } from '@picket/platform/store/store.ts';
import {
  essenceOf,
  fileNamed,
  sendFile,
  sendFileAfter,
  storedFiles,
} from '@picket/service/results/artifacts/sending.ts';
import type { ArtifactRow } from '@picket/service/results/tables.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type FileLinks, folderOf, type OpenedFile } from './links.ts';
import { addTraceViewer, type TraceViewerFiles } from './trace-viewer.ts';

export interface FilePagesDeps {
  readonly store: Store;
  readonly artifactStore: ArtifactStore;
  readonly links: FileLinks;
  readonly transfers: RawTransfers;
  /** Separate origin of files; without it there is no trace viewer. */
  readonly artifactsUrl?: string | undefined;
  readonly viewer: TraceViewerFiles | undefined;
}

/**
 * Reports store settings in the browser's storage, which a sandbox refuses with an error that leaves them blank: this
 * replaces it with a storage for the lifetime of the page.
 */
const storage = Buffer.from(
  `<!doctype html><script>for (const name of ['localStorage', 'sessionStorage']) {
const own = { getItem(key) { return Object.hasOwn(this, key) ? this[key] : null; },
setItem(key, value) { this[key] = String(value); }, removeItem(key) { delete this[key]; },
clear() { for (const key of Object.keys(this)) delete this[key]; } };
Object.defineProperty(window, name, { value: Object.create(own) }); }</script>
`,
);

/** Serves files of runs isolated from the pages, along with the trace viewer. */
export function addFilePages(app: FastifyInstance, deps: FilePagesDeps): void {
  app.setErrorHandler((thrown: Error, _request, reply) => {
    const [status, said] =
      thrown instanceof AppError ? [thrown.statusCode, thrown.message] : [500, 'The service failed.'];
    return reply.code(status).header('cache-control', 'no-store').type('text/plain').send(said);
  });
  app.get<{ Params: OpenedFile & { '*': string } }>(
    '/artifacts/:sessionId/:pass/:checkId/:resultId/*',
    async (request, reply) => {
      const { params } = request;
      // A worker would persist and respond for other files of its folder.
      if (request.headers['service-worker'] !== undefined) {
        throw new AppError('BAD_LINK', 'A file of a run cannot be a service worker.');
      }
      const accountId = await deps.links.accountOf(params);
      if (accountId === null) {
        throw new AppError(
          'BAD_LINK',
          'This link has expired. Open the file again from the page of its run.',
        );
      }
      const { checkId, resultId } = params;
      const row = fileNamed(await storedFiles(deps.store, { accountId, checkId, resultId }), params['*']);
      deps.transfers.add(request, reply);
      await send(row, {
        request,
        reply,
        artifactStore: deps.artifactStore,
        headers: headersOf(row, request),
      });
      return reply;
    },
  );
  const { artifactsUrl, viewer } = deps;
  if (artifactsUrl !== undefined && viewer) addTraceViewer(app, viewer, new URL(artifactsUrl));
}

type Sending = {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly artifactStore: ArtifactStore;
  readonly headers: Record<string, string>;
};

function send(row: ArtifactRow, sending: Sending): Promise<void> {
  return essenceOf(row) === 'text/html'
    ? sendFileAfter(storage, row, sending)
    : sendFile(row, sending, sending.headers);
}

/**
 * Sandboxes a file: it may run scripts, as a report must, but without access to any origin (no cookie, no storage, no
 * other page), and loads only the files of its own run.
 */
function headersOf(row: ArtifactRow, request: FastifyRequest): Record<string, string> {
  const own = `${request.protocol}://${request.host}${folderOf(request.params as OpenedFile)}`;
  const file = row.name.slice(row.name.lastIndexOf('/') + 1);
  const type = row.content_type;
  return {
    'content-type': /^text\/[\w.+-]+$/i.test(type) ? `${type}; charset=utf-8` : type,
    'content-disposition': `inline; filename="${file}"`,
    'content-security-policy': [
      'sandbox allow-scripts',
      "default-src 'none'",
      `script-src ${own} 'unsafe-inline' 'unsafe-eval' blob:`,
      `style-src ${own} 'unsafe-inline'`,
      `img-src ${own} data: blob:`,
      `font-src ${own} data:`,
      `media-src ${own} data: blob:`,
      `connect-src ${own} data: blob:`,
      "form-action 'none'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'referrer-policy': 'no-referrer',
    // The sandbox requests the parts of a report from an opaque origin. The address is the credential.
    'access-control-allow-origin': '*',
    'cross-origin-resource-policy': 'cross-origin',
    'cache-control': 'private, no-cache',
  };
}
