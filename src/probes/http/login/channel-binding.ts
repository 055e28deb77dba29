import { createHash, type X509Certificate } from 'node:crypto';

/**
 * Returns the channel binding `tls-server-end-point` (RFC 5929 section 4): its name, and the hash of the certificate by
 * the hash of its signature, or SHA-256 in place of MD5, SHA-1 and signatures without a hash of their own.
 */
export function serverEndPoint(certificate: X509Certificate | undefined): Buffer | undefined {
  if (!certificate) return undefined;
  const algorithm = certificate.signatureAlgorithm ?? '';
  const strong = /sha-?(384|512)(?!\d)/i.exec(algorithm)?.[1];
  const hash = createHash(strong === undefined ? 'sha256' : `sha${strong}`);
  return Buffer.concat([Buffer.from('tls-server-end-point:'), hash.update(certificate.raw).digest()]);
}
