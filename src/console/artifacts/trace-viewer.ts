import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppError } from '@picket/lib/errors.ts';
import { packageFolder } from '@picket/lib/version.ts';
import type { FastifyInstance } from 'fastify';
import { gt } from 'semver';

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.ttf': 'font/ttf',
  '.webmanifest': 'application/manifest+json',
  '.wasm': 'application/wasm',
};

/** Locations of the files, by their names in the viewer. */
export type TraceViewerFiles = ReadonlyMap<string, string>;

/**
 * Serves Playwright's trace viewer unchanged. It needs an origin for its service worker, and displays content of
 * traces: it runs on the origin of files only, never on that of the pages.
 */
export function addTraceViewer(app: FastifyInstance, files: TraceViewerFiles, { host }: URL): void {
  app.get<{ Params: { '*': string } }>('/trace-viewer/*', async (request, reply) => {
    const name = request.params['*'];
    const file = request.host.toLowerCase() === host ? files.get(name) : undefined;
    if (file === undefined) throw new AppError('NOT_FOUND', `The trace viewer has no file ${name}.`);
    const content = await readFile(file);
    const type = types[extname(file)] ?? 'application/octet-stream';
    return reply
      .headers({
        'content-type': type,
        'content-security-policy': policyOf(extname(file) === '.html' ? content.toString('utf8') : ''),
        'x-frame-options': 'SAMEORIGIN',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-cache',
      })
      .send(content);
  });
}

/** The viewer loads its own files and the contents of the trace, and sends no data to other hosts. */
function policyOf(document: string): string {
  const inline = [...document.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(
    ([, script = '']) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`,
  );
  return [
    "default-src 'none'",
    ["script-src 'self'", ...inline].join(' '),
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "media-src 'self' data: blob:",
    "connect-src 'self' data: blob:",
    "frame-src 'self' blob: data:",
    "worker-src 'self'",
    "manifest-src 'self'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'self'",
  ].join('; ');
}

/**
 * Returns the files of the newest installed viewer: it shows traces of its own version and older ones.
 *
 * @returns undefined if Playwright is not installed.
 */
export function findTraceViewer(): TraceViewerFiles | undefined {
  const [newest] = installedPlaywrights().sort((left, right) => (gt(left.version, right.version) ? -1 : 1));
  if (!newest) return undefined;
  return new Map(globSync('**/*.*', { cwd: newest.folder }).map((name) => [name, join(newest.folder, name)]));
}

/** Playwright is installed with the script runtimes; next to sources, also as a test dependency. */
function installedPlaywrights(): { version: string; folder: string }[] {
  const runtimes = fileURLToPath(new URL('runtimes', packageFolder()));
  const manifests = globSync('*/node_modules/playwright-core/package.json', { cwd: runtimes }).map((name) =>
    join(runtimes, name),
  );
  const { resolve } = createRequire(import.meta.url);
  try {
    manifests.push(resolve('playwright-core/package.json'));
  } catch {
    // Images contain the runtimes only.
  }
  return manifests.flatMap((manifest) => {
    const folder = join(dirname(manifest), 'lib/vite/traceViewer');
    if (!existsSync(join(folder, 'index.html'))) return [];
    const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
    return [{ version, folder }];
  });
}
