import { getCACertificates, setDefaultCACertificates } from 'node:tls';

/**
 * Has this thread trust more authorities, beside those it trusts already (Node's own and NODE_EXTRA_CA_CERTS), for every TLS
 * connection that names no authorities of its own. Threads do not inherit it.
 *
 * @param certificates PEM texts.
 */
export function trustAlso(certificates: readonly string[]): void {
  if (certificates.length === 0) return;
  setDefaultCACertificates([...getCACertificates('default'), ...certificates]);
}
