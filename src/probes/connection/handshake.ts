import { isIP, type Socket } from 'node:net';
import { connect, type PeerCertificate, type SecureContext, type TLSSocket } from 'node:tls';
import type { ClientIdentity } from './secure-contexts.ts';
import type { TlsInspection } from './target.ts';

/** What a handshake is made with, but for the certificates that are trusted. */
export interface HandshakeOptions {
  /** The name the certificate has to be for. */
  readonly hostname: string;
  readonly alpnProtocols: readonly string[];
  readonly clientIdentity?: ClientIdentity | undefined;
  readonly isCertificateChecked?: boolean | undefined;
  readonly inspection?: TlsInspection | undefined;
}

/** Begins TLS as the client on a connected socket; the ClientHello has been written when this returns. */
export function beginHandshake(
  socket: Socket,
  { hostname, alpnProtocols, isCertificateChecked = true, inspection }: HandshakeOptions,
  trust: {
    readonly secureContext: SecureContext;
    readonly checkServerIdentity?: (name: string, certificate: PeerCertificate) => Error | undefined;
  },
): TLSSocket {
  const secureSocket = connect({
    socket,
    host: hostname,
    // SNI knows no addresses; RFC 6066 section 3: without the trailing dot of a fully qualified name.
    servername: isIP(hostname) === 0 ? hostname.replace(/\.$/, '') : '',
    rejectUnauthorized: isCertificateChecked,
    ...trust,
    ...(alpnProtocols.length > 0 && { ALPNProtocols: [...alpnProtocols] }),
    ...(inspection && { requestOCSP: true }),
  });
  if (inspection) {
    secureSocket.on('OCSPResponse', (response: Buffer | null) => {
      if (response) inspection.onStaple(response);
    });
  }
  return secureSocket;
}
