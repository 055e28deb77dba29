import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';

/** A client certificate with its key, as written by its author. */
export interface CertificateMaterial {
  readonly cert: string;
  readonly key: string;
  readonly ca: string | null;
  readonly passphrase: string | null;
}

interface Problem {
  readonly key: string;
  readonly message: string;
}

/**
 * Problems of a client certificate, by field. Expiry is not a problem here: a check that presents an expired one fails
 * and says so. Messages never repeat the input.
 */
export function certificateProblems({ cert, key, ca, passphrase }: CertificateMaterial): Problem[] {
  const chain = certificatesOf(cert);
  const privateKey = privateKeyOf(key, passphrase);
  const problems: Problem[] = [];
  if (!chain) problems.push({ key: 'cert', message: 'must be one or more certificates as PEM' });
  if ('message' in privateKey) problems.push(privateKey);
  else if (chain?.[0] && !chain[0].checkPrivateKey(privateKey.privateKey)) {
    problems.push({ key: 'key', message: 'is not the key of the certificate' });
  }
  if (ca !== null && !certificatesOf(ca)) {
    problems.push({ key: 'ca', message: 'must be one or more certificates as PEM' });
  }
  return problems;
}

const pemCertificate = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Certificates in a PEM text, in order; null if it has none, or one of them cannot be read. */
function certificatesOf(pem: string): X509Certificate[] | null {
  const blocks = pem.match(pemCertificate) ?? [];
  // TLS would silently ignore blocks of other kinds or truncated ones.
  const begun = pem.match(/-----BEGIN /g)?.length ?? 0;
  if (blocks.length === 0 || blocks.length !== begun) return null;
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    // If OpenSSL cannot read it, it is invalid.
    return null;
  }
}

/** Subject and expiry of a certificate; of several the first, which is the one presented. */
export function describedCertificate(pem: string): { subject: string; expiresAt: string | null } {
  const [first] = certificatesOf(pem) ?? [];
  if (!first) return { subject: '', expiresAt: null };
  return { subject: first.subject.replaceAll('\n', ', '), expiresAt: first.validToDate.toISOString() };
}

function privateKeyOf(pem: string, passphrase: string | null): Problem | { readonly privateKey: KeyObject } {
  try {
    return {
      privateKey: createPrivateKey({
        key: pem,
        format: 'pem',
        ...(passphrase === null ? {} : { passphrase }),
      }),
    };
  } catch {
    // If OpenSSL cannot read it, it is invalid.
    if (!/-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/.test(pem)) {
      return { key: 'key', message: 'must be a private key as PEM' };
    }
    return passphrase === null
      ? { key: 'passphrase', message: 'is required: the key is encrypted' }
      : { key: 'passphrase', message: 'does not open the key, or the key is damaged' };
  }
}
