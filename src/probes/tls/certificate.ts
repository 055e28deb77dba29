import type { X509Certificate } from 'node:crypto';
import { elementsOf, oidText, readOr } from './der.ts';

/** Facts about one certificate of a chain. */
export interface ChainCertificate {
  readonly subjectCN: string | null;
  readonly subject: string;
  readonly issuerCN: string | null;
  readonly issuer: string;
  /** Hexadecimal, in lower case. */
  readonly serialNumber: string;
  readonly fingerprintSha256: string;
  /** Epoch milliseconds; NaN for invalid dates. */
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** Subject alternative names: host names and addresses. */
  readonly sans: readonly string[];
  /** `RSA`, `ECDSA`, `Ed25519` and so on. */
  readonly keyAlgorithm: string;
  readonly keySizeBits: number | null;
  /** Such as `SHA256-RSA`; the object identifier if the algorithm is unknown. */
  readonly signatureAlgorithm: string;
  readonly isSelfSigned: boolean;
  readonly isAuthority: boolean;
  /** Embedded signed certificate timestamps. */
  readonly scts: readonly SignedTimestamp[];
  /** True if it requires a stapled OCSP response (RFC 7633). */
  readonly isStapleRequired: boolean;
}

/** A certificate transparency log's promise to publish the certificate (RFC 6962). */
export interface SignedTimestamp {
  /** Base64 of the hash of the log's key. */
  readonly logId: string;
  readonly timestampMs: number;
}

/** Further names are counted, but not kept. */
const maxNames = 200;

/** Parses one certificate. Invalid parts are omitted: a target may send anything. */
export function readCertificate(certificate: X509Certificate): ChainCertificate {
  const extensions = extensionsOf(certificate.raw);
  const { keyAlgorithm, keySizeBits } = keyOf(certificate);
  return {
    subjectCN: commonName(certificate.subject),
    subject: oneLine(certificate.subject),
    issuerCN: commonName(certificate.issuer),
    issuer: oneLine(certificate.issuer),
    serialNumber: certificate.serialNumber.toLowerCase(),
    fingerprintSha256: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
    notBeforeMs: Date.parse(certificate.validFrom),
    notAfterMs: Date.parse(certificate.validTo),
    sans: namesOf(extensions.get(subjectAltName)),
    keyAlgorithm,
    keySizeBits,
    signatureAlgorithm: signatureOf(certificate),
    isSelfSigned: certificate.subject === certificate.issuer && isSignedByItself(certificate),
    isAuthority: certificate.ca,
    scts: timestampsOf(extensions.get(sctList)),
    isStapleRequired: extensions.get(tlsFeature)?.includes(statusRequest) ?? false,
  };
}

const subjectAltName = '2.5.29.17';
const sctList = '1.3.6.1.4.1.11129.2.4.2';
const tlsFeature = '1.3.6.1.5.5.7.1.24';
const statusRequest = Buffer.from([2, 1, 5]);

/** Joins a distinguished name, which Node splits into lines. */
function oneLine(name: string | undefined): string {
  return (name ?? '').split('\n').join(', ');
}

function commonName(name: string | undefined): string | null {
  return (
    name
      ?.split('\n')
      .find((line) => line.startsWith('CN='))
      ?.slice(3) ?? null
  );
}

function isSignedByItself(certificate: X509Certificate): boolean {
  try {
    return certificate.verify(certificate.publicKey);
  } catch {
    return false; // An unusable key cannot have signed anything.
  }
}

const keyNames: Readonly<Record<string, string>> = {
  rsa: 'RSA',
  'rsa-pss': 'RSA',
  ec: 'ECDSA',
  dsa: 'DSA',
  ed25519: 'Ed25519',
  ed448: 'Ed448',
};
const curveBits: Readonly<Record<string, number>> = { secp384r1: 384, secp521r1: 521, secp224r1: 224 };
const fixedBits: Readonly<Record<string, number>> = { ed25519: 256, ed448: 456 };

function keyOf(certificate: X509Certificate): Pick<ChainCertificate, 'keyAlgorithm' | 'keySizeBits'> {
  try {
    const { asymmetricKeyType: type = 'unknown', asymmetricKeyDetails: details } = certificate.publicKey;
    const curve = details?.namedCurve ?? '';
    const ofCurve =
      curveBits[curve] ?? (Number(/\d{3}/.exec(curve)?.[0]) || (curve === 'prime256v1' ? 256 : null));
    const keySizeBits = details?.modulusLength ?? fixedBits[type] ?? (type === 'ec' ? ofCurve : null);
    return { keyAlgorithm: keyNames[type] ?? type, keySizeBits };
  } catch {
    return { keyAlgorithm: 'unknown', keySizeBits: null }; // OpenSSL does not support this key type.
  }
}

/** The names that common SSL monitoring clients use. */
const signatureNames: Readonly<Record<string, string>> = {
  '1.2.840.113549.1.1.2': 'MD2-RSA',
  '1.2.840.113549.1.1.4': 'MD5-RSA',
  '1.2.840.113549.1.1.5': 'SHA1-RSA',
  '1.2.840.113549.1.1.11': 'SHA256-RSA',
  '1.2.840.113549.1.1.12': 'SHA384-RSA',
  '1.2.840.113549.1.1.13': 'SHA512-RSA',
  '1.2.840.10040.4.3': 'DSA-SHA1',
  '2.16.840.1.101.3.4.3.2': 'DSA-SHA256',
  '1.2.840.10045.4.1': 'ECDSA-SHA1',
  '1.2.840.10045.4.3.2': 'ECDSA-SHA256',
  '1.2.840.10045.4.3.3': 'ECDSA-SHA384',
  '1.2.840.10045.4.3.4': 'ECDSA-SHA512',
  '1.3.101.112': 'Ed25519',
  '1.3.101.113': 'Ed448',
};
const rsaPss = '1.2.840.113549.1.1.10';
const pssHashes: Readonly<Record<string, string>> = {
  '2.16.840.1.101.3.4.2.1': 'SHA256-RSAPSS',
  '2.16.840.1.101.3.4.2.2': 'SHA384-RSAPSS',
  '2.16.840.1.101.3.4.2.3': 'SHA512-RSAPSS',
};

function signatureOf({ raw }: X509Certificate): string {
  return readOr('unknown', () => {
    const [certificate] = elementsOf(raw);
    const algorithm = elementsOf(certificate?.value ?? Buffer.alloc(0))[1];
    const [identifier, parameters] = elementsOf(algorithm?.value ?? Buffer.alloc(0));
    const oid = oidText(identifier?.value ?? Buffer.alloc(0));
    if (oid !== rsaPss) return signatureNames[oid] ?? oid;
    // The default hash without parameters is SHA-1 (RFC 4055).
    const hash = elementsOf(parameters?.value ?? Buffer.alloc(0)).find(({ tag }) => tag === 0xa0);
    if (!hash) return 'SHA1-RSAPSS';
    const hashOid = oidText(
      elementsOf(elementsOf(hash.value)[0]?.value ?? Buffer.alloc(0))[0]?.value ?? Buffer.alloc(0),
    );
    return pssHashes[hashOid] ?? `${hashOid}-RSAPSS`;
  });
}

/** The values of a certificate's extensions, by object identifier. */
function extensionsOf(raw: Buffer): Map<string, Buffer> {
  return readOr(new Map<string, Buffer>(), () => {
    const [certificate] = elementsOf(raw);
    const [signed] = elementsOf(certificate?.value ?? Buffer.alloc(0));
    const list = elementsOf(signed?.value ?? Buffer.alloc(0)).find(({ tag }) => tag === 0xa3);
    const entries = list ? elementsOf(elementsOf(list.value)[0]?.value ?? Buffer.alloc(0)) : [];
    return new Map(
      entries.map(({ value }) => {
        const parts = elementsOf(value);
        return [oidText(parts[0]?.value ?? Buffer.alloc(0)), parts.at(-1)?.value ?? Buffer.alloc(0)] as const;
      }),
    );
  });
}

const dnsName = 0x82;
const ipAddress = 0x87;

function namesOf(extension: Buffer | undefined): string[] {
  if (!extension) return [];
  return readOr<string[]>([], () =>
    elementsOf(elementsOf(extension)[0]?.value ?? Buffer.alloc(0))
      .flatMap(({ tag, value }) => {
        if (tag === dnsName) return [value.toString('latin1')];
        return tag === ipAddress ? [addressText(value)] : [];
      })
      .slice(0, maxNames),
  );
}

function addressText(value: Buffer): string {
  if (value.length === 4) return [...value].join('.');
  const groups = (value.toString('hex').match(/.{4}/g) ?? []).map((group) => group.replace(/^0{1,3}/, ''));
  return URL.parse(`http://[${groups.join(':')}]/`)?.hostname.slice(1, -1) ?? value.toString('hex');
}

/** Parses the list in the extension: a total length, then entries, each with its own length. */
function timestampsOf(extension: Buffer | undefined): SignedTimestamp[] {
  if (!extension) return [];
  return readOr<SignedTimestamp[]>([], () => {
    const list = elementsOf(extension)[0]?.value ?? Buffer.alloc(0);
    const found: SignedTimestamp[] = [];
    for (let start = 2; start + 2 <= list.length; start += 2 + list.readUInt16BE(start)) {
      const entry = list.subarray(start + 2, start + 2 + list.readUInt16BE(start));
      if (entry.length < 41) break;
      found.push({
        logId: entry.subarray(1, 33).toString('base64'),
        timestampMs: Number(entry.readBigUInt64BE(33)),
      });
    }
    return found;
  });
}
