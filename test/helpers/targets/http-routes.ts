import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';

/** The part of a response that HTTP/1.1 and HTTP/2 have in common. */
export interface Reply {
  writeHead(status: number, headers?: OutgoingHttpHeaders): unknown;
  write(chunk: string | Buffer): boolean;
  end(chunk?: string | Buffer): unknown;
}

/** A request as a target received it, with its whole body. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly httpVersion: string;
  readonly body: string;
}

export type Route = (request: ReceivedRequest, reply: Reply) => void;

const encoders: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: gzipSync,
  deflate: deflateSync,
  'deflate-raw': deflateRawSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
};

/**
 * Responses of every HTTP target, by the first segment of the path:
 *
 * | path | response |
 * |---|---|
 * | `/` | 200, text "ok" |
 * | `/echo` | the request as JSON: method, path, query, headers, body |
 * | `/status/503` | that status, and its number as text |
 * | `/delay/200` | "late" after this many milliseconds |
 * | `/drip/5/20` | 5 pieces of a body, 20 ms apart |
 * | `/redirect/3` | 3 redirects to `/echo`; `?status=303` selects the status |
 * | `/redirect-to?url=…` | a redirect there; `status` as above |
 * | `/redirect-loop` | a redirect to itself |
 * | `/bytes/1000` | this many bytes "x" |
 * | `/encoded/gzip` | JSON `{"encoded":true}` in that encoding, or several: `gzip,br`; `?bytes=1000` for 1000 "x" |
 * | `/json` | a small JSON document |
 * | `/type?type=image/png&text=…` | `text` (or `base64`) with that content type |
 * | `/headers?name=value` | those response headers; names may repeat |
 */
export const standardRoutes: Readonly<Record<string, Route>> = {
  '': (_request, reply) => text(reply, 200, 'ok'),
  echo: (request, reply) => {
    json(reply, {
      method: request.method,
      path: request.path,
      query: Object.fromEntries(request.query),
      headers: request.headers,
      httpVersion: request.httpVersion,
      body: request.body,
    });
  },
  status: (request, reply) => {
    const status = Number(segment(request, 1) || 200);
    text(reply, status, String(status));
  },
  delay: (request, reply) => {
    setTimeout(() => text(reply, 200, 'late'), Number(segment(request, 1)));
  },
  drip: (request, reply) => {
    let left = Number(segment(request, 1));
    reply.writeHead(200, { 'content-type': 'text/plain' });
    const timer = setInterval(
      () => {
        left -= 1;
        reply.write('drip');
        if (left > 0) return;
        clearInterval(timer);
        reply.end();
      },
      Number(segment(request, 2)),
    );
  },
  redirect: (request, reply) => {
    const left = Number(segment(request, 1));
    const status = Number(request.query.get('status') ?? 302);
    const location = left <= 1 ? '/echo' : `/redirect/${left - 1}?status=${status}`;
    reply.writeHead(status, { location });
    reply.end('moved');
  },
  'redirect-to': (request, reply) => {
    const status = Number(request.query.get('status') ?? 302);
    reply.writeHead(status, { location: request.query.get('url') ?? '/' });
    reply.end('moved');
  },
  'redirect-loop': (_request, reply) => {
    reply.writeHead(302, { location: '/redirect-loop' });
    reply.end();
  },
  bytes: (request, reply) => {
    const body = Buffer.alloc(Number(segment(request, 1)), 'x');
    reply.writeHead(200, { 'content-type': 'text/plain', 'content-length': body.length });
    reply.end(body);
  },
  encoded: (request, reply) => {
    const encodings = segment(request, 1).split(',');
    const size = Number(request.query.get('bytes') ?? 0);
    let body: Buffer = size > 0 ? Buffer.alloc(size, 'x') : Buffer.from('{"encoded":true}');
    for (const encoding of encodings) body = encoders[encoding]?.(body) ?? body;
    const header = encodings.map((encoding) => encoding.replace('-raw', '')).join(', ');
    reply.writeHead(200, { 'content-type': 'application/json', 'content-encoding': header });
    reply.end(body);
  },
  json: (_request, reply) => {
    json(reply, { name: 'probe', count: 3, ready: true, missing: null, tags: ['a', 'b'], scores: [1, 5, 2] });
  },
  type: (request, reply) => {
    const base64 = request.query.get('base64');
    const body = base64 === null ? (request.query.get('text') ?? '') : Buffer.from(base64, 'base64');
    reply.writeHead(200, { 'content-type': request.query.get('type') ?? 'text/plain' });
    reply.end(body);
  },
  headers: (request, reply) => {
    const names = new Set(request.query.keys());
    const headers = [...names].map((name): [string, string[]] => [name, request.query.getAll(name)]);
    reply.writeHead(200, Object.fromEntries(headers));
    reply.end();
  },
};

/** Serves one request from routes by the first segment of its path; 404 for unknown ones. */
export function serve(
  incoming: IncomingMessage | Http2ServerRequest,
  reply: Reply,
  options: {
    readonly routes: Readonly<Record<string, Route>>;
    readonly onRequest: (request: ReceivedRequest) => void;
  },
): void {
  const chunks: Buffer[] = [];
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
  incoming.on('end', () => {
    const url = new URL(incoming.url ?? '/', 'http://target');
    const request: ReceivedRequest = {
      method: incoming.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: incoming.headers,
      httpVersion: incoming.httpVersion,
      body: Buffer.concat(chunks).toString(),
    };
    options.onRequest(request);
    const route = options.routes[segment(request, 0)];
    if (route) route(request, reply);
    else text(reply, 404, 'no such route');
  });
}

/** A segment of a path, counted from 0. */
function segment(request: ReceivedRequest, index: number): string {
  return request.path.split('/')[index + 1] ?? '';
}

function text(reply: Reply, status: number, body: string): void {
  reply.writeHead(status, { 'content-type': 'text/plain' });
  reply.end(body);
}

function json(reply: Reply, body: unknown): void {
  reply.writeHead(200, { 'content-type': 'application/json' });
  reply.end(JSON.stringify(body));
}
