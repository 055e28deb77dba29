import type { FastifyRequest } from 'fastify';

/**
 * Separates the origin of files from that of the pages: it serves only files and the trace viewer, so that neither the
 * pages nor the API share an origin with displayed traces.
 */
export function isElsewhere(artifactsUrl: string): (request: FastifyRequest) => string | undefined {
  const { host } = new URL(artifactsUrl);
  return ({ host: asked, url }) =>
    asked.toLowerCase() === host && !/^\/(?:artifacts|trace-viewer)\//.test(url)
      ? 'This host serves files of runs only. The pages and the API are at another host.'
      : undefined;
}
