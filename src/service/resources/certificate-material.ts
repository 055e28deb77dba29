import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';

/** A client certificate with its key, as its author wrote them. */
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
 * What is wrong with a client certificate, by field. An expired one is nothing wrong: a check that presents
 * it fails and says so. Messages never repeat what was written.
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

/** The certificates of a PEM text in order; null when there is none, or one of them cannot be read. */
function certificatesOf(pem: string): X509Certificate[] | null {
  const blocks = pem.match(pemCertificate) ?? [];
  // Blocks of another kind, or cut ones, would be left out by TLS without a word.
  const begun = pem.match(/-----BEGIN /g)?.length ?? 0;
  if (blocks.length === 0 || blocks.length !== begun) return null;
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    // What OpenSSL cannot read is the answer to the question.
    return null;
  }
}

/** Whom a certificate names, and when it ends: of several the first, which is the one that is presented. */
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
    // What OpenSSL cannot read is the answer to the question.
    if (!/-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/.test(pem)) {
      return { key: 'key', message: 'must be a private key as PEM' };
    }
    return passphrase === null
      ? { key: 'passphrase', message: 'is required: the key is encrypted' }
      : { key: 'passphrase', message: 'does not open the key, or the key is damaged' };
  }
}
