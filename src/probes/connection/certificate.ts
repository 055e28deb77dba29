import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate, type TLSSocket } from 'node:tls';

/** Facts from a peer's certificate chain and TLS handshake. */
export interface CertificateFacts {
  /** Common names of the certificate's subject and issuer; null if absent. */
  readonly subject: string | null;
  readonly issuer: string | null;
  /** Expiry of the leaf certificate, in epoch milliseconds. */
  readonly validToMs: number;
  /** Earliest expiry in the chain, excluding the root, which does not belong to the target. */
  readonly chainValidToMs: number;
  /** Such as `TLSv1.3`. */
  readonly protocol: string | null;
  /** IANA name, such as `TLS_AES_256_GCM_SHA384`. */
  readonly cipher: string | null;
  /** The certificate itself, in DER. */
  readonly der: Buffer;
}

/** A certificate and the host that presented it, in a chain of redirects. */
export interface HostCertificate extends CertificateFacts {
  readonly hostname: string;
}

/** Longer than any real chain; OpenSSL accepts up to 100. */
const maxChainLength = 10;

/**
 * Reads the certificate of one TLS client connection, whether or not it is valid or checked.
 *
 * Node reads the chain itself to compare the host name, unless verification failed before that. Reading it is a large
 * share of a probe's cost, and OpenSSL's binding empties the chain when it is read in another form, so Node's own
 * comparison would then fail. So this class uses the chain that Node has read, and reads the chain itself only if Node
 * does not.
 */
export class CertificateReader {
  facts: CertificateFacts | undefined;
  #socket: TLSSocket | undefined;
  /** Node keeps the options of a socket as long as the socket: they refer to this link alone. */
  readonly #link: { reader: CertificateReader | undefined } = { reader: this };

  /** Pass to `connect` as `checkServerIdentity`: compares the host name as Node does. */
  identityCheck(): (hostname: string, certificate: PeerCertificate) => Error | undefined {
    return identityCheckOf(this.#link);
  }

  /** Reads what Node has read to compare the name. */
  note(certificate: PeerCertificate): void {
    if (this.#socket) this.facts = { ...factsOfPeer(certificate), ...negotiated(this.#socket) };
  }

  /** Lets go of the socket, and makes the socket let go of this; `facts` stay. */
  detach(): void {
    this.#link.reader = undefined;
    this.#socket = undefined;
  }

  /**
   * Call immediately, with the socket that `connect` returned.
   *
   * @param isChecked whether Node closes the socket if the certificate is not trusted.
   */
  attach(socket: TLSSocket, isChecked = true): void {
    this.#socket = socket;
    const read = () => {
      const certificate = socket.getPeerX509Certificate();
      if (certificate) this.facts = { ...factsOfX509(certificate), ...negotiated(socket) };
    };
    if (!isChecked) {
      // By then Node knows OpenSSL's verdict: each reading of it makes an error with a stack.
      socket.prependOnceListener('secureConnect', () => {
        if (!this.facts) read();
      });
      return;
    }
    socket.prependOnceListener('secure', () => {
      const { _handle: handle } = socket as unknown as { _handle?: { verifyError?(): unknown } | null };
      if (handle?.verifyError?.()) read();
    });
  }
}

/** A function of its own, so that it refers to nothing but the link. */
function identityCheckOf(link: { readonly reader: CertificateReader | undefined }) {
  return (hostname: string, certificate: PeerCertificate): Error | undefined => {
    link.reader?.note(certificate);
    return checkStrictIdentity(hostname, certificate);
  };
}

/** Explains why a certificate does not match a name or an address by the rules of browsers; undefined if it matches. */
export function checkStrictIdentity(hostname: string, certificate: PeerCertificate): Error | undefined {
  return checkServerIdentity(hostname, certificate) ?? strictMismatch(hostname, certificate);
}

/** A `*` that is not a whole first label: Node accepts it as a partial wildcard. */
const partialWildcard = /DNS:(?!\*\.[^*,]*(?:,|$))[^,]*\*/;

/**
 * Node accepts the common name of a certificate without alternative names, and `foo*.example.com` for any name with
 * that prefix. Browsers accept neither (RFC 9525 sections 2 and 6.3).
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
    der: certificate.raw,
  };
}

/** A root certificate is its own issuer in this structure. */
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
    der: certificate.raw,
  };
}

function commonName(name: string | readonly string[] | undefined): string | null {
  return (typeof name === 'object' ? name[0] : name) ?? null;
}

/** Finds the common name in a multi-line distinguished name, such as `O=Example\nCN=example.com`. */
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
