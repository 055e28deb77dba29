import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join, normalize } from 'node:path';
import { errorCodeOf } from '@picket/lib/errors.ts';

/** A folder of archives, as a mirror that Playwright can download from. */
export interface FolderMirror {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves the files of a folder to this machine: by their path, as a mirror has them
 * (`builds/firefox/1509/firefox-debian-12.zip`), or by their name alone.
 */
export async function serveFolder(folder: string): Promise<FolderMirror> {
  const server: Server = createServer((request, response) => {
    void archiveOf(folder, request.url ?? '/').then(
      (found) => {
        if (!found) {
          response.writeHead(404).end();
          return;
        }
        response.writeHead(200, { 'content-length': found.sizeBytes });
        createReadStream(found.path)
          .on('error', () => response.destroy())
          .pipe(response);
      },
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function archiveOf(folder: string, url: string) {
  const wanted = decodeURIComponent(new URL(url, 'http://mirror').pathname);
  for (const path of [normalize(wanted), basename(wanted)]) {
    const file = join(folder, path);
    const found = await stat(file).catch((thrown: unknown) => {
      if (['ENOENT', 'ENOTDIR'].includes(errorCodeOf(thrown) ?? '')) return undefined;
      throw thrown;
    });
    if (found?.isFile()) return { path: file, sizeBytes: found.size };
  }
  return undefined;
}
