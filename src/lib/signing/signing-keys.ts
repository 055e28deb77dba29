import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';

/**
 * Ed25519 keys (RFC 8032). A public key is one line, `ed25519:KEY` or `ed25519:KEY:DATE`: KEY is the 32 bytes in
 * base64url, and DATE the last day (UTC) on which signatures of the key are accepted. A private key is a PKCS #8 PEM.
 */
export interface PublicKey {
  /** First 16 hexadecimal digits of the SHA-256 of the 32 bytes: names the key in signatures and messages. */
  readonly id: string;
  readonly key: KeyObject;
  /** Instant from which signatures of the key are refused, in milliseconds since 1970; null: never. */
  readonly notAfter: number | null;
}

const linePattern = /^ed25519:([\w-]{43})(?::(\d{4}-\d{2}-\d{2}))?$/;
const dayMs = 86_400_000;

/** Reads a public key; undefined if the text is not one. */
export function readPublicKey(line: string): PublicKey | undefined {
  const [, x, date] = linePattern.exec(line.trim()) ?? [];
  if (x === undefined) return undefined;
  const lastDay = date === undefined ? null : Date.parse(`${date}T00:00:00Z`);
  if (Number.isNaN(lastDay)) return undefined;
  try {
    const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } });
    return { id: keyIdOf(key), key, notAfter: lastDay === null ? null : lastDay + dayMs };
  } catch {
    return undefined;
  }
}

/** Writes a public key as one line. @param lastDay `YYYY-MM-DD`. */
export function publicKeyLine(key: KeyObject, lastDay?: string): string {
  const line = `ed25519:${rawOf(key).toString('base64url')}`;
  return lastDay === undefined ? line : `${line}:${lastDay}`;
}

export function newPrivateKey(): KeyObject {
  return generateKeyPairSync('ed25519').privateKey;
}

export function privateKeyPem(key: KeyObject): string {
  return String(key.export({ format: 'pem', type: 'pkcs8' }));
}

/** Reads a private key; undefined if the text is not an Ed25519 key in PEM. */
export function readPrivateKey(pem: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === 'ed25519' ? key : undefined;
  } catch {
    return undefined;
  }
}

/** @param key the private or the public key. */
export function keyIdOf(key: KeyObject): string {
  return createHash('sha256').update(rawOf(key)).digest('hex').slice(0, 16);
}

function rawOf(key: KeyObject): Buffer {
  const open = key.type === 'private' ? createPublicKey(key) : key;
  return Buffer.from(open.export({ format: 'jwk' }).x ?? '', 'base64url');
}
