// @peculiar/x509 requires this polyfill to be loaded first.
import 'reflect-metadata';

import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import type { KeyAndCertificate } from './certificates.ts';

/** Differences of a chain's certificates from valid ones. */
interface Flaws {
  readonly leaf?: Flaw;
  readonly intermediate?: Flaw;
}

interface Flaw {
  readonly hash?: string;
  readonly modulusLength?: number;
  readonly extensions?: readonly x509.Extension[];
  readonly isNoAuthority?: boolean;
  readonly keyUsages?: number;
  readonly pathLength?: number;
  /** Validity in days from now. */
  readonly toDays?: number;
  /** Its signature belongs to different data. */
  readonly isTampered?: boolean;
}

const { keyCertSign, cRLSign, digitalSignature } = x509.KeyUsageFlags;
const subtrees = (names: readonly x509.GeneralName[], field: 0xa0 | 0xa1) => {
  const entries = names.map((name) => tlv(0x30, Buffer.from(name.rawData)));
  return new x509.Extension('2.5.29.30', true, tlv(0x30, tlv(field, Buffer.concat(entries))));
};
const tlv = (tag: number, value: Buffer) => Buffer.concat([Buffer.from([tag, value.length]), value]);

/** Chains that no client accepts, each for a different reason. All are for localhost, and their root is valid. */
export const certificateFlaws: Readonly<Record<string, Flaws>> = {
  'a signature of SHA-1': { leaf: { hash: 'SHA-1' } },
  'an issuer with a signature of SHA-1': { intermediate: { hash: 'SHA-1' } },
  'a key of 1024 bits': { leaf: { modulusLength: 1024 } },
  'an issuer with a key of 1024 bits': { intermediate: { modulusLength: 1024 } },
  'an issuer that may sign for other names only': {
    intermediate: { extensions: [subtrees([new x509.GeneralName('dns', 'other.example')], 0xa0)] },
  },
  'an issuer that may not sign for its name': {
    intermediate: { extensions: [subtrees([new x509.GeneralName('dns', 'localhost')], 0xa1)] },
  },
  'a critical extension that nobody knows': {
    leaf: { extensions: [new x509.Extension('1.3.6.1.4.1.55555.1', true, Buffer.from([5, 0]))] },
  },
  'an issuer that may not sign certificates': { intermediate: { keyUsages: cRLSign } },
  'an issuer that is no authority': { intermediate: { isNoAuthority: true } },
  'the purpose of a client': {
    leaf: { extensions: [new x509.ExtendedKeyUsageExtension(['1.3.6.1.5.5.7.3.2'], true)] },
  },
  'a signature of somebody else': { leaf: { isTampered: true } },
  'an issuer with a signature of somebody else': { intermediate: { isTampered: true } },
};

interface Signer {
  readonly name: string;
  readonly keys: webcrypto.CryptoKeyPair;
}

/** A root of a test, and server certificates issued by its intermediate. */
export async function createFlawedAuthority(): Promise<{
  /** PEM of the root. */
  readonly cert: string;
  /** PEM of the intermediate of a valid chain. */
  readonly issuer: string;
  issue(flaws?: Flaws): Promise<KeyAndCertificate>;
}> {
  const root: Signer = { name: 'CN=Picket flawed root', keys: await rsaKeys() };
  const rootCertificate = await certificateOf(root, root, authorityExtensions({}), {});
  const soundIntermediate: Signer = { name: 'CN=Picket issuer', keys: await rsaKeys() };
  const soundIssuer = await certificateOf(soundIntermediate, root, authorityExtensions({}), {});
  return {
    cert: rootCertificate.toString('pem'),
    issuer: soundIssuer.toString('pem'),
    async issue({ leaf = {}, intermediate } = {}) {
      const issuer: Signer = intermediate
        ? { name: 'CN=Picket issuer', keys: await rsaKeys(intermediate.modulusLength) }
        : soundIntermediate;
      const issuerCertificate = intermediate
        ? await certificateOf(issuer, root, authorityExtensions(intermediate), intermediate)
        : soundIssuer;
      const server: Signer = { name: 'CN=localhost', keys: await rsaKeys(leaf.modulusLength) };
      const names = new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: 'localhost' }]);
      const extensions = [
        names,
        new x509.KeyUsagesExtension(digitalSignature, true),
        ...(leaf.extensions ?? []),
      ];
      const certificate = await certificateOf(server, issuer, extensions, leaf);
      const key = await webcrypto.subtle.exportKey('pkcs8', server.keys.privateKey);
      return {
        key: x509.PemConverter.encode(key, 'PRIVATE KEY'),
        cert: `${certificate.toString('pem')}\n${issuerCertificate.toString('pem')}\n`,
      };
    },
  };
}

function authorityExtensions({
  isNoAuthority,
  pathLength,
  keyUsages,
  extensions = [],
}: Flaw): x509.Extension[] {
  return [
    new x509.BasicConstraintsExtension(!isNoAuthority, pathLength, true),
    new x509.KeyUsagesExtension(keyUsages ?? keyCertSign | cRLSign, true),
    ...extensions,
  ];
}

async function certificateOf(
  subject: Signer,
  issuer: Signer,
  extensions: x509.Extension[],
  { hash = 'SHA-256', isTampered = false, toDays = 30 }: Flaw,
): Promise<x509.X509Certificate> {
  const signer = isTampered ? await rsaKeys() : issuer.keys;
  return await x509.X509CertificateGenerator.create({
    serialNumber: `01${Buffer.from(webcrypto.getRandomValues(new Uint8Array(14))).toString('hex')}`,
    subject: subject.name,
    issuer: issuer.name,
    notBefore: new Date(Date.now() - 86_400_000),
    notAfter: new Date(Date.now() + toDays * 86_400_000),
    publicKey: subject.keys.publicKey,
    signingKey: hash === 'SHA-256' ? signer.privateKey : await withHash(signer.privateKey, hash),
    signingAlgorithm: { name: 'RSASSA-PKCS1-v1_5', hash },
    extensions,
  });
}

/** The same key for signatures with another hash. */
async function withHash(key: webcrypto.CryptoKey, hash: string): Promise<webcrypto.CryptoKey> {
  const bytes = await webcrypto.subtle.exportKey('pkcs8', key);
  return await webcrypto.subtle.importKey('pkcs8', bytes, { name: 'RSASSA-PKCS1-v1_5', hash }, true, [
    'sign',
  ]);
}

async function rsaKeys(modulusLength = 2048): Promise<webcrypto.CryptoKeyPair> {
  const algorithm = {
    name: 'RSASSA-PKCS1-v1_5',
    hash: 'SHA-256',
    modulusLength,
    publicExponent: new Uint8Array([1, 0, 1]),
  };
  return (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
}
