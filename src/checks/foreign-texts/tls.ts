import type { CertificateFlaw } from '../contract/failure-details.ts';

/** Certificate flaws, by the messages of OpenSSL, Node and Chromium. */
const flaws: readonly (readonly [pattern: RegExp, flaw: CertificateFlaw])[] = [
  [/CERT_HAS_EXPIRED|has expired/, 'expired'],
  [/CERT_NOT_YET_VALID|not yet valid/, 'early'],
  [/ERR_CERT_DATE_INVALID/, 'dated'],
  [/ALTNAME|altnames|COMMON_NAME_INVALID|HOSTNAME_MISMATCH/i, 'name'],
  [/REVOKED/, 'revoked'],
  [/SELF_SIGNED|self[- ]signed/i, 'self-signed'],
  [/UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)|unable to (get|verify)|AUTHORITY_INVALID|UNTRUSTED/i, 'issuer'],
];

export function certificateFlawIn(text: string): CertificateFlaw | undefined {
  return flaws.find(([pattern]) => pattern.test(text))?.[1];
}

const handshakes = [
  [
    /protocol version|unsupported protocol|UNSUPPORTED_PROTOCOL|VERSION_OR_CIPHER|no shared cipher|handshake failure/i,
    'version-or-cipher',
  ],
  [/certificate required|bad certificate|unknown ca|CLIENT_AUTH/i, 'client-certificate'],
  [/wrong version number|packet length too long|http request/i, 'no-tls'],
] as const;
export type HandshakeProblem = (typeof handshakes)[number][1];

/** Returns why a handshake failed, by the names that OpenSSL and Chromium give to TLS alerts. */
export function handshakeProblemIn(text: string): HandshakeProblem | undefined {
  return handshakes.find(([pattern]) => pattern.test(text))?.[1];
}
