import { matchesGlob } from '../../lib/glob.ts';
import type { ClientCertificate, Runner } from '../check-type.ts';
import { runHttp } from '../http/run.ts';
import type { HttpDetail } from '../http-detail.ts';
import type { ApiSpec } from './spec.ts';

export { warmUp } from '../http/run.ts';

/** Runs an API check: its request, with the client certificate for the host, and its assertions. */
export const runApi: Runner<ApiSpec, HttpDetail> = (spec, context) =>
  runHttp(spec, context, (hostname) => clientCertificateFor(hostname, context.clientCertificates));

/**
 * The certificate whose `host` fits a host name: an exact one before one with wildcards, then the first of the list.
 * `*` stands for any characters.
 */
export function clientCertificateFor(
  hostname: string,
  certificates: readonly ClientCertificate[],
): ClientCertificate | undefined {
  const wanted = hostname.toLowerCase();
  const exact = certificates.find(({ host }) => host.toLowerCase() === wanted);
  return (
    exact ?? certificates.find(({ host }) => host.includes('*') && matchesGlob(wanted, host.toLowerCase()))
  );
}
