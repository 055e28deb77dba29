import type { FastifyRequest } from 'fastify';

/**
 * Keeps the address of files apart from that of the pages: only files and the trace viewer are served there,
 * so that nothing of the pages or the API has the origin that traces are shown at.
 */
export function isElsewhere(artifactsUrl: string): (request: FastifyRequest) => string | undefined {
  const { host } = new URL(artifactsUrl);
  return ({ host: asked, url }) =>
    asked.toLowerCase() === host && !/^\/(?:artifacts|trace-viewer)\//.test(url)
      ? 'This host serves files of runs only. The pages and the API are at another host.'
      : undefined;
}
