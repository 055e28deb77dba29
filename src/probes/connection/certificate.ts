import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate, type TLSSocket } from 'node:tls';

/** What a peer's certificate chain and handshake say of themselves. */
export interface CertificateFacts {
  /** Common names of the certificate's subject and its issuer; null for a certificate without. */
  readonly subject: string | null;
  readonly issuer: string | null;
  /** When the certificate itself expires, in epoch milliseconds. */
  readonly validToMs: number;
  /** When the first certificate of the chain expires; the root is not the target's and does not count. */
  readonly chainValidToMs: number;
  /** Such as `TLSv1.3`. */
  readonly protocol: string | null;
  /** By its name in the standard, such as `TLS_AES_256_GCM_SHA384`. */
  readonly cipher: string | null;
}

/** A certificate, and the host of a chain of redirects that showed it. */
export interface HostCertificate extends CertificateFacts {
  readonly hostname: string;
}

/** Longer than any honest chain; OpenSSL takes up to 100. */
const maxChainLength = 10;

/**
 * Reads the certificate of one TLS client connection, whether it is valid or not and whether that is of
 * interest.
 *
 * Node reads the chain itself to compare the host name, unless its verification failed before that. Reading
 * it costs a good part of what a probe costs, and OpenSSL's binding empties the chain when it is read in
 * another form, so that Node's own comparison would fail afterwards. So this takes what Node gets, and reads
 * only when Node will not.
 */
export class CertificateReader {
  facts: CertificateFacts | undefined;
  #socket: TLSSocket | undefined;

  /** To be given to `connect`: compares the host name as Node does. */
  readonly checkServerIdentity = (hostname: string, certificate: PeerCertificate): Error | undefined => {
    if (this.#socket) this.facts = { ...factsOfPeer(certificate), ...negotiated(this.#socket) };
    return checkStrictIdentity(hostname, certificate);
  };

  /** To be called with what `connect` returned, at once. */
  attach(socket: TLSSocket): void {
    this.#socket = socket;
    socket.prependOnceListener('secure', () => {
      const { _handle: handle } = socket as unknown as { _handle?: { verifyError?(): unknown } | null };
      if (!handle?.verifyError?.()) return;
      const certificate = socket.getPeerX509Certificate();
      if (certificate) this.facts = { ...factsOfX509(certificate), ...negotiated(socket) };
    });
  }
}

/** Why a certificate is not for a name or an address, as browsers see it; undefined when it is. */
export function checkStrictIdentity(hostname: string, certificate: PeerCertificate): Error | undefined {
  return checkServerIdentity(hostname, certificate) ?? strictMismatch(hostname, certificate);
}

/** A `*` that is not a whole first label, or a wildcard where Node looks at nothing else. */
const partialWildcard = /DNS:(?!\*\.[^*,]*(?:,|$))[^,]*\*/;

/**
 * Node takes the common name of a certificate without alternative names, and `foo*.example.com` for any name that
 * begins like that. Browsers take neither (RFC 9525 sections 2 and 6.3).
 */
function strictMismatch(hostname: string, { raw, subjectaltname = '' }: PeerCertificate): Error | undefined {
  if (isIP(hostname) !== 0 || (subjectaltname.includes('DNS:') && !partialWildcard.test(subjectaltname))) {
    return undefined;
  }
  const name = hostname.replace(/\.$/, '');
  const options = { subject: 'never', partialWildcards: false } as const;
  if (new X509Certificate(raw).checkHost(name, options) !== undefined) return undefined;
  const names = subjectaltname === '' ? 'none; the common name is ignored' : subjectaltname;
  const message = `Host: ${name}. is not in the cert's altnames: ${names}`;
  return Object.assign(new Error(message), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
}

type Facts = Omit<CertificateFacts, 'protocol' | 'cipher'>;

function factsOfPeer(certificate: PeerCertificate): Facts {
  const validToMs = Date.parse(certificate.valid_to);
  let chainValidToMs = validToMs;
  let issuer = issuerOf(certificate);
  for (let length = 1; issuer && length < maxChainLength; length += 1) {
    const next = issuerOf(issuer);
    if (next !== issuer) chainValidToMs = Math.min(chainValidToMs, Date.parse(issuer.valid_to));
    issuer = next === issuer ? undefined : next;
  }
  return {
    subject: commonName(certificate.subject?.CN),
    issuer: commonName(certificate.issuer?.CN),
    validToMs,
    chainValidToMs,
  };
}

/** A root is its own issuer there. */
function issuerOf(certificate: PeerCertificate): PeerCertificate | undefined {
  return (certificate as { readonly issuerCertificate?: PeerCertificate }).issuerCertificate;
}

function factsOfX509(certificate: X509Certificate): Facts {
  const validToMs = Date.parse(certificate.validTo);
  let chainValidToMs = validToMs;
  let issuer = certificate.issuerCertificate;
  for (let length = 1; issuer && length < maxChainLength; length += 1) {
    const isRoot = issuer.subject === issuer.issuer;
    if (!isRoot) chainValidToMs = Math.min(chainValidToMs, Date.parse(issuer.validTo));
    issuer = isRoot ? undefined : issuer.issuerCertificate;
  }
  return {
    subject: commonNameIn(certificate.subject),
    issuer: commonNameIn(certificate.issuer),
    validToMs,
    chainValidToMs,
  };
}

function commonName(name: string | readonly string[] | undefined): string | null {
  return (typeof name === 'object' ? name[0] : name) ?? null;
}

/** A distinguished name as lines, such as `O=Example\nCN=example.com`. */
function commonNameIn(name: string | undefined): string | null {
  return (
    name
      ?.split('\n')
      .find((line) => line.startsWith('CN='))
      ?.slice(3) ?? null
  );
}

function negotiated(socket: TLSSocket): Pick<CertificateFacts, 'protocol' | 'cipher'> {
  return { protocol: socket.getProtocol(), cipher: socket.getCipher()?.standardName ?? null };
}
