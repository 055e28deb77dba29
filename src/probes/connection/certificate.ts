import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate, type TLSSocket } from 'node:tls';
import { LruMap } from '@picket/lib/lru.ts';

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

/**
 * Reads the certificate of one TLS client connection, whether or not it is valid or checked.
 *
 * OpenSSL's binding gives away a chain once, and Node reads it in the form that is by far the dearest to compare the host
 * name. So this class gives Node what it has read itself.
 */
export class CertificateReader {
  facts: CertificateFacts | undefined;
  #socket: TLSSocket | undefined;
  /** Node keeps a closed socket, and what its properties refer to, until V8 collects old objects: this link alone. */
  readonly #link: { shown: PeerCertificate | undefined } = { shown: undefined };

  /** Call immediately, with the socket that `connect` returned. */
  attach(socket: TLSSocket): void {
    this.#socket = socket;
    showInstead(socket, this.#link);
    // Before Node's own listener, which compares the name.
    socket.prependOnceListener('secure', () => this.#read());
  }

  /** Lets go of the socket; `facts` stay. */
  detach(): void {
    this.#link.shown = undefined;
    this.#socket = undefined;
  }

  #read(): void {
    const leaf = this.#socket?.getPeerX509Certificate();
    if (!this.#socket || !leaf) return;
    const { shown, facts } = certificateSent(sentWith(leaf));
    this.#link.shown = shown;
    this.facts = { ...facts, ...negotiated(this.#socket) };
  }
}

/** A function of its own, so that the function which it makes refers to nothing but the link. */
function showInstead(socket: TLSSocket, link: { readonly shown: PeerCertificate | undefined }): void {
  const read = () => link.shown ?? {};
  socket.getPeerCertificate = read as TLSSocket['getPeerCertificate'];
}

/** Longer than any real chain; OpenSSL accepts up to 100. */
export const maxChainLength = 10;

/** The certificates that a peer sent, the leaf first. Node links them in the order they were sent, not by signature. */
export function sentWith(leaf: X509Certificate): X509Certificate[] {
  const sent: X509Certificate[] = [];
  for (
    let one: X509Certificate | undefined = leaf;
    one && sent.length < maxChainLength;
    one = one.issuerCertificate
  )
    sent.push(one);
  return sent;
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

interface SentCertificate {
  readonly facts: Omit<CertificateFacts, 'protocol' | 'cipher'>;
  /** The leaf, as Node shows it. */
  readonly shown: PeerCertificate;
}

/** Checks repeat, and their targets send the same chain each time: reading it takes a tenth of a probe's CPU time. */
const known = new LruMap<string, SentCertificate>(
  1_000_000,
  ({ facts }, chain) => facts.der.length + chain.length,
);

function certificateSent(sent: readonly X509Certificate[]): SentCertificate {
  const chain = sent.map(({ raw }) => raw.toString('latin1')).join('');
  return known.getOrMake(chain, () => readSent(sent));
}

function readSent([leaf, ...others]: readonly X509Certificate[]): SentCertificate {
  if (!leaf) throw new Error('a chain has a leaf');
  const validToMs = Date.parse(leaf.validTo);
  let chainValidToMs = validToMs;
  let issuer = issuerOf(leaf, others);
  for (let length = 1; issuer && length < maxChainLength; length += 1) {
    const next = issuerOf(issuer, others);
    // A root does not belong to the target.
    if (next !== issuer) chainValidToMs = Math.min(chainValidToMs, Date.parse(issuer.validTo));
    issuer = next === issuer ? undefined : next;
  }
  const shown = leaf.toLegacyObject();
  const facts = {
    subject: commonName(shown.subject?.CN),
    issuer: commonName(shown.issuer?.CN),
    validToMs,
    chainValidToMs,
    der: leaf.raw,
  };
  return { facts, shown };
}

/** The certificate of an issuer, of those that were sent; a root is its own issuer. */
function issuerOf(
  certificate: X509Certificate,
  others: readonly X509Certificate[],
): X509Certificate | undefined {
  return certificate.checkIssued(certificate)
    ? certificate
    : others.find((one) => certificate.checkIssued(one));
}

function commonName(name: string | readonly string[] | undefined): string | null {
  return (typeof name === 'object' ? name[0] : name) ?? null;
}

function negotiated(socket: TLSSocket): Pick<CertificateFacts, 'protocol' | 'cipher'> {
  return { protocol: socket.getProtocol(), cipher: socket.getCipher()?.standardName ?? null };
}
