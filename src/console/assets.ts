import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** A file that pages load. Its name contains a hash of its content, so that browsers may cache it forever. */
export interface Asset {
  readonly path: string;
  readonly contentType: string;
  readonly content: Buffer;
  /** Compressed on the first request: a process that shows no pages never needs it. */
  readonly compressed: (encoding: Encoding) => Promise<Buffer>;
}

type Encoding = 'br' | 'gzip';

/** The files of pages, each read once. */
export type Assets = Readonly<Record<keyof typeof files, Asset>>;

const folder = join(import.meta.dirname, 'assets');
const { resolve } = createRequire(import.meta.url);

const files = {
  style: {
    name: 'style.css',
    contentType: 'text/css; charset=utf-8',
    sources: [
      'tokens.css',
      'layout.css',
      'elements.css',
      'forms.css',
      'editor.css',
      'pages.css',
      'run.css',
      'overview.css',
      'charts.css',
      'alerts.css',
      'start.css',
      'locations.css',
      'public.css',
    ].map((name) => join(folder, name)),
  },
  htmx: {
    name: 'htmx.js',
    contentType: 'text/javascript; charset=utf-8',
    sources: [resolve('htmx.org/dist/htmx.min.js')],
  },
  app: {
    name: 'app.js',
    contentType: 'text/javascript; charset=utf-8',
    // live.js is last: it starts the others.
    sources: [
      'toasts.js',
      'times.js',
      'copy.js',
      'code.js',
      'preview.js',
      'run.js',
      'overview.js',
      'palette.js',
      'editor.js',
      'chart.js',
      'alerts.js',
      'live.js',
    ].map((name) => join(folder, 'app', name)),
  },
  analytics: {
    name: 'analytics.js',
    contentType: 'text/javascript; charset=utf-8',
    sources: [join(folder, 'analytics.js')],
  },
  icon: { name: 'icon.svg', contentType: 'image/svg+xml', sources: [join(folder, 'icon.svg')] },
  iconFailing: {
    name: 'icon-failing.svg',
    contentType: 'image/svg+xml',
    sources: [join(folder, 'icon-failing.svg')],
  },
} as const;

export function readAssets(): Assets {
  const entries = Object.entries(files).map(([key, { name, contentType, sources }]) => {
    const content = Buffer.concat(sources.map((source) => readFileSync(source)));
    const hash = createHash('sha256').update(content).digest('hex').slice(0, 16);
    const made: Partial<Record<Encoding, Promise<Buffer>>> = {};
    const asset: Asset = {
      path: `/assets/${name.replace('.', `.${hash}.`)}`,
      contentType,
      content,
      compressed: (encoding) => {
        made[encoding] ??= compress[encoding](content);
        return made[encoding];
      },
    };
    return [key, asset];
  });
  return Object.fromEntries(entries) as Assets;
}

const compress = {
  gzip: (content: Buffer) => promisify(gzip)(content, { level: 9 }),
  br: (content: Buffer) =>
    promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
};

/** Serves the files to everyone: they contain no private data. */
export function serveAssets(app: FastifyInstance, assets: Assets): void {
  const byPath = new Map(Object.values(assets).map((asset) => [asset.path, asset]));
  app.get('/assets/*', async (request, reply) => {
    const asset = byPath.get(request.url.split('?')[0] ?? '');
    if (!asset) return reply.callNotFound();
    return sendAsset(asset, request, reply);
  });
  // Browsers and monitors request it on their own.
  app.get('/favicon.ico', async (request, reply) => sendAsset(assets.icon, request, reply));
}

async function sendAsset(asset: Asset, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const accepted = request.headers['accept-encoding'] ?? '';
  const encoding = /\bbr\b/.test(accepted) ? 'br' : /\bgzip\b/.test(accepted) ? 'gzip' : undefined;
  if (encoding) reply.header('content-encoding', encoding);
  return reply
    .headers({
      'content-type': asset.contentType,
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      vary: 'accept-encoding',
    })
    .send(encoding ? await asset.compressed(encoding) : asset.content);
}
