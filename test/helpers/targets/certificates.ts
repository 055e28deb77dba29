// @peculiar/x509 requires this polyfill to be loaded first.
import 'reflect-metadata';

import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

/** PEM texts of a key and its certificate. */
export interface KeyAndCertificate {
  readonly key: string;
  readonly cert: string;
}

export interface CertificateOptions {
  /** DNS names and IP addresses of the certificate; without any it has no alternative names. */
  readonly hosts?: readonly string[];
  readonly commonName?: string;
  /** Validity in days from now; both may be negative. */
  readonly fromDays?: number;
  readonly toDays?: number;
  /** "Must staple" (RFC 7633): the server must prove in each handshake that the certificate is not revoked. */
  readonly isStapleRequired?: boolean;
  readonly curve?: 'P-256' | 'P-384' | 'P-521';
}

/** An authority of a test: clients that trust `cert` trust the certificates it issues. */
export interface TestAuthority {
  /** PEM of the authority's own certificate. */
  readonly cert: string;
  issue(options?: CertificateOptions): Promise<KeyAndCertificate>;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const dayMs = 86_400_000;
const tlsFeature = '1.3.6.1.5.5.7.1.24';
/** An ASN.1 sequence of one number, 5. */
const statusRequest = Buffer.from('3003020105', 'hex');

export async function createAuthority(name = 'Picket test authority'): Promise<TestAuthority> {
  const keys = await generateKeys();
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: `CN=${name}`,
    notBefore: daysFromNow(-1),
    notAfter: daysFromNow(365),
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 2, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    ],
  });
  return {
    cert: ca.toString('pem'),
    async issue({
      hosts = ['localhost', '127.0.0.1', '::1'],
      fromDays = -1,
      toDays = 30,
      isStapleRequired = false,
      curve = 'P-256',
      commonName = hosts[0] ?? 'nobody',
    } = {}) {
      const leafKeys = await generateKeys(curve);
      const leaf = await x509.X509CertificateGenerator.create({
        serialNumber: serial(),
        subject: `CN=${commonName}`,
        issuer: ca.subject,
        notBefore: daysFromNow(fromDays),
        notAfter: daysFromNow(toDays),
        signingKey: keys.privateKey,
        publicKey: leafKeys.publicKey,
        signingAlgorithm: algorithm,
        extensions: [
          new x509.BasicConstraintsExtension(false, undefined, true),
          ...(hosts.length > 0 ? [alternativeNames(hosts)] : []),
          ...(isStapleRequired ? [new x509.Extension(tlsFeature, false, statusRequest)] : []),
        ],
      });
      return { key: await privateKeyPem(leafKeys), cert: leaf.toString('pem') };
    },
  };
}

async function generateKeys(namedCurve: string = algorithm.namedCurve): Promise<webcrypto.CryptoKeyPair> {
  const terms = { ...algorithm, namedCurve };
  return (await webcrypto.subtle.generateKey(terms, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
}

async function privateKeyPem({ privateKey }: webcrypto.CryptoKeyPair): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', privateKey), 'PRIVATE KEY');
}

function alternativeNames(hosts: readonly string[]): x509.Extension {
  return new x509.SubjectAlternativeNameExtension(
    hosts.map((host) => ({ type: isAddress(host) ? 'ip' : 'dns', value: host })),
  );
}

function isAddress(host: string): boolean {
  return /^[\d.]+$/.test(host) || host.includes(':');
}

function serial(): string {
  return Buffer.from(webcrypto.getRandomValues(new Uint8Array(15)))
    .toString('hex')
    .replace(/^./, '1');
}

function daysFromNow(days: number): Date {
  return new Date(Date.now() + days * dayMs);
}
