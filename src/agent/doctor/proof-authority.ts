import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** PEM texts. */
export interface ProofAuthority {
  /** The certificate of an authority that no other program trusts. */
  readonly authority: string;
  /** A certificate for 127.0.0.1 by that authority, and its key. */
  readonly server: { readonly cert: string; readonly key: string };
}

const dayMs = 86_400_000;

/** Object identifiers in DER (RFC 5280, RFC 5758). */
const oid = {
  ecdsaWithSha256: hex('06082a8648ce3d040302'),
  commonName: hex('0603550403'),
  basicConstraints: hex('0603551d13'),
  keyUsage: hex('0603551d0f'),
  subjectAltName: hex('0603551d11'),
  serverAuth: hex('06082b06010505070301'),
  extendedKeyUsage: hex('0603551d25'),
};
const yes = hex('0101ff');

/**
 * A short-lived authority that is loaded like those of CA_CERTS_DIR. A server with its certificate shows which clients
 * trust it: a browser cannot be queried for its trust, and the keys of the real authorities are not here.
 */
export function createProofAuthority(now = Date.now()): ProofAuthority {
  const name = `Picket doctor ${randomBytes(4).toString('hex')}`;
  const [own, server] = [keyPair(), keyPair()];
  const validity = sequence(utcTime(now - dayMs), utcTime(now + dayMs));
  const certificate = (subject: string, key: KeyObject, extensions: readonly Buffer[]) => {
    const content = sequence(
      tagged(0xa0, hex('020102')), // version 3
      tagged(0x02, Buffer.concat([Buffer.from([1]), randomBytes(15)])),
      sequence(oid.ecdsaWithSha256),
      distinguishedName(name),
      validity,
      distinguishedName(subject),
      key.export({ type: 'spki', format: 'der' }),
      tagged(0xa3, sequence(...extensions)),
    );
    const signature = sign('sha256', content, own.privateKey);
    return pem('CERTIFICATE', sequence(content, sequence(oid.ecdsaWithSha256), bits(signature)));
  };
  const authority = certificate(name, own.publicKey, [
    extension(oid.basicConstraints, sequence(yes), true),
    extension(oid.keyUsage, hex('03020204'), true), // keyCertSign
  ]);
  const cert = certificate('127.0.0.1', server.publicKey, [
    extension(oid.basicConstraints, sequence(), true),
    extension(oid.extendedKeyUsage, sequence(oid.serverAuth)),
    extension(oid.subjectAltName, sequence(tagged(0x87, Buffer.from([127, 0, 0, 1])))),
  ]);
  return {
    authority,
    server: { cert, key: server.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() },
  };
}

function keyPair() {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

function distinguishedName(commonName: string): Buffer {
  return sequence(tagged(0x31, sequence(oid.commonName, tagged(0x0c, Buffer.from(commonName)))));
}

function extension(id: Buffer, value: Buffer, isCritical = false): Buffer {
  return sequence(id, ...(isCritical ? [yes] : []), tagged(0x04, value));
}

/** For example `261121081500Z`. */
function utcTime(epochMs: number): Buffer {
  const digits = new Date(epochMs).toISOString().replaceAll(/\D/g, '').slice(2, 14);
  return tagged(0x17, Buffer.from(`${digits}Z`));
}

function bits(bytes: Buffer): Buffer {
  return tagged(0x03, Buffer.concat([Buffer.from([0]), bytes]));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

/** Tag, length and value (X.690); up to 65535 bytes. */
function tagged(tag: number, value: Buffer): Buffer {
  const { length } = value;
  const head =
    length < 0x80
      ? [tag, length]
      : length < 0x100
        ? [tag, 0x81, length]
        : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), value]);
}

function pem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

function hex(digits: string): Buffer {
  return Buffer.from(digits, 'hex');
}
