import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

const ivBytes = 12;
const tagBytes = 16;

/** A response to replay. */
export interface Answer {
  readonly statusCode: number;
  readonly body: string;
}

/** SHA-256 of texts with unambiguous boundaries. */
export function hashOf(...texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex');
}

/**
 * Encrypts a response for storage. Some responses contain a key that is shown once, so the encryption key is derived
 * from the caller's own credential and idempotency key: the database has only hashes of both.
 */
export function sealAnswer(secret: readonly string[], answer: Answer): string {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv('aes-256-gcm', keyFrom(secret), iv);
  const content = Buffer.concat([cipher.update(JSON.stringify(answer), 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), content]).toString('base64');
}

/** @throws if it was sealed for another caller, or changed since. */
export function openAnswer(secret: readonly string[], sealed: string): Answer {
  const packed = Buffer.from(sealed, 'base64');
  const decipher = createDecipheriv('aes-256-gcm', keyFrom(secret), packed.subarray(0, ivBytes)).setAuthTag(
    packed.subarray(ivBytes, ivBytes + tagBytes),
  );
  const text =
    decipher.update(packed.subarray(ivBytes + tagBytes), undefined, 'utf8') + decipher.final('utf8');
  return JSON.parse(text) as Answer;
}

function keyFrom(secret: readonly string[]): Buffer {
  return Buffer.from(hkdfSync('sha256', JSON.stringify(secret), '', 'picket stored answer', 32));
}
