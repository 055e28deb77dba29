import { X509Certificate } from 'node:crypto';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import { errorCodeOf, toError } from '@picket/lib/errors.ts';
import { checkStrictIdentity, maxChainLength, sentWith } from '../connection/certificate.ts';
import { classifyError, ProbeError, type ProbeErrorDetails } from '../connection/errors.ts';
import { type ChainCertificate, readCertificate } from './certificate.ts';
import { readStaple, type StapledStatus } from './staple.ts';

/** Facts about a completed handshake, trusted or not. */
export interface HandshakeFacts {
  /** Such as `TLS1.3`. */
  readonly protocol: string | null;
  /** IANA name, such as `TLS_AES_256_GCM_SHA384`. */
  readonly cipherSuite: string | null;
  /** The negotiated protocol, of those offered. */
  readonly alpnProtocol: string | null;
  /** Key exchange: `X25519`, `prime256v1`, `DH 2048`. */
  readonly keyExchange: string | null;
  /** As the target sent it: its own certificate first. */
  readonly chain: readonly ChainCertificate[];
  /** From the target's certificate to the last issuer known here. */
  readonly path: readonly ChainCertificate[];
  /** Why the chain is not trusted; null if it is. */
  readonly trustProblem: CertificateProblem | null;
  /** Why the certificate does not match the name; null if it does. */
  readonly nameProblem: CertificateProblem | null;
  readonly staple: StapledStatus | null;
}

/** A problem with a certificate. */
export interface CertificateProblem {
  /** OpenSSL's or Node's code, such as `CERT_HAS_EXPIRED`. */
  readonly code: string;
  readonly message: string;
  readonly details: ProbeErrorDetails;
}

/**
 * Reads the facts of a connection right after its handshake.
 *
 * @param hostname the name or address that the certificate must match.
 */
export function readHandshake(
  socket: TLSSocket,
  { hostname, staple, ...place }: { readonly hostname: string; readonly staple: Buffer | undefined } & Place,
): HandshakeFacts {
  // The order matters: reading the chain as it was sent empties it.
  const shown = socket.getPeerCertificate(true);
  const path = pathFrom(shown);
  const first = socket.getPeerX509Certificate();
  const chain = first ? sentWith(first).map(readCertificate) : [];
  const [leaf] = chain;
  const nameProblem = leaf ? problemOf(checkStrictIdentity(hostname, shown), place) : noCertificate;
  return {
    protocol:
      socket
        .getProtocol()
        ?.replace('TLSv1', 'TLS1')
        .replace(/^TLS1$/, 'TLS1.0') ?? null,
    cipherSuite: socket.getCipher()?.standardName ?? null,
    alpnProtocol: socket.alpnProtocol || null,
    keyExchange: keyExchangeOf(socket),
    chain,
    path,
    trustProblem: leaf ? trustProblemOf(socket, place) : noCertificate,
    nameProblem,
    staple: staple && leaf ? readStaple(staple, leaf.serialNumber) : null,
  };
}

const noCertificate: CertificateProblem = {
  code: 'NO_CERTIFICATE',
  message: 'the target presented no certificate',
  details: {},
};

/** The peer: for messages, and for programs. */
interface Place {
  readonly where: string;
  readonly peer: ProbeErrorDetails;
}

/** OpenSSL's own verdict, without Node's check of the name. */
function trustProblemOf(socket: TLSSocket, place: Place): CertificateProblem | null {
  const { _handle: handle } = socket as unknown as { _handle?: { verifyError?(): unknown } | null };
  const verdict = handle?.verifyError?.();
  return verdict ? problemOf(toError(verdict), place) : null;
}

function problemOf(error: Error | undefined, { where, peer }: Place): CertificateProblem | null {
  if (!error) return null;
  const classified = classifyError(error, 'tls', where, peer);
  return {
    code: errorCodeOf(error) ?? 'UNSPECIFIED',
    message: classified.message,
    details: classified instanceof ProbeError ? classified.details : {},
  };
}

function pathFrom(peer: PeerCertificate): ChainCertificate[] {
  const path: ChainCertificate[] = [];
  let current: PeerCertificate | undefined = peer;
  while (current?.raw && path.length < maxChainLength) {
    path.push(readCertificate(new X509Certificate(current.raw)));
    const issuer: PeerCertificate | undefined = (current as { issuerCertificate?: PeerCertificate })
      .issuerCertificate;
    current = issuer === current ? undefined : issuer;
  }
  return path;
}

function keyExchangeOf(socket: TLSSocket): string | null {
  const info = socket.getEphemeralKeyInfo() as { type?: string; name?: string; size?: number } | null;
  if (!info?.type) return null;
  return info.name ?? `${info.type} ${info.size ?? ''}`.trim();
}
