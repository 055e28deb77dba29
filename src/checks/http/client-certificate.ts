import { matchesGlob } from '@picket/lib/text.ts';
import type { ClientCertificate } from '../contract/run-context.ts';

/**
 * Returns the certificate whose `host` matches a host name: an exact match before one with wildcards, then the first of
 * the list. `*` stands for any characters.
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
