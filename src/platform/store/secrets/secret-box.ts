import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { AppError } from '@picket/lib/errors.ts';

const keyBytes = 32;
const ivBytes = 12;
const tagBytes = 16;
/** Prefix of sealed texts, and of plain texts that would look sealed. */
const sealedPrefix = 'picket:1:';
const plainPrefix = 'picket:0:';

/** Parses a key from its setting: 32 bytes as Base64 or hex; undefined otherwise. */
export function parseSecretsKey(text: string): Buffer | undefined {
  const isHex = /^[0-9a-f]{64}$/i.test(text);
  const isBase64 = /^[A-Za-z0-9+/_-]{43}=?$/.test(text);
  if (!isHex && !isBase64) return undefined;
  const key = Buffer.from(text, isHex ? 'hex' : 'base64');
  return key.length === keyBytes ? key : undefined;
}

interface NamedKey {
  readonly id: string;
  readonly key: Buffer;
}

function named(key: Buffer): NamedKey {
  return { id: createHash('sha256').update('picket key id').update(key).digest('hex').slice(0, 12), key };
}

/**
 * Seals texts with AES-256-GCM under a key outside the database, and opens texts sealed with it or an older one:
 * `picket:1:KEY:BASE64` of IV, tag and ciphertext. Without a key texts stay unchanged.
 */
export class SecretBox {
  readonly #current: NamedKey | undefined;
  readonly #byId: ReadonlyMap<string, NamedKey>;

  constructor(key: Buffer | undefined, oldKeys: readonly Buffer[] = []) {
    this.#current = key && named(key);
    const all = [...(this.#current ? [this.#current] : []), ...oldKeys.map(named)];
    this.#byId = new Map(all.map((one) => [one.id, one]));
  }

  /** Identifies the present key without revealing it. */
  get keyId(): string | undefined {
    return this.#current?.id;
  }

  knows(keyId: string): boolean {
    return this.#byId.has(keyId);
  }

  seal(text: string): string {
    if (!this.#current) return text.startsWith('picket:') ? plainPrefix + text : text;
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#current.key, iv);
    const content = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    const packed = Buffer.concat([iv, cipher.getAuthTag(), content]).toString('base64');
    return `${sealedPrefix}${this.#current.id}:${packed}`;
  }

  /** @throws AppError CONFIG_INVALID when the key is missing, or the text was changed since. */
  open(stored: string): string {
    if (stored.startsWith(plainPrefix)) return stored.slice(plainPrefix.length);
    const keyId = keyIdOf(stored);
    if (keyId === undefined) return stored;
    const key = this.#byId.get(keyId)?.key;
    if (!key) throw unknownKey(keyId);
    const packed = Buffer.from(stored.slice(sealedPrefix.length + keyId.length + 1), 'base64');
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, packed.subarray(0, ivBytes)).setAuthTag(
        packed.subarray(ivBytes, ivBytes + tagBytes),
      );
      return decipher.update(packed.subarray(ivBytes + tagBytes), undefined, 'utf8') + decipher.final('utf8');
    } catch (thrown) {
      throw new AppError('CONFIG_INVALID', 'A secret in the database was changed there.', {
        cause: thrown,
      });
    }
  }
}

/** Returns the id of the key that sealed a stored text; undefined if it is in clear. */
export function keyIdOf(stored: string): string | undefined {
  if (!stored.startsWith(sealedPrefix)) return undefined;
  return stored.slice(sealedPrefix.length, stored.indexOf(':', sealedPrefix.length));
}

export function unknownKey(keyId: string): AppError {
  return new AppError(
    'CONFIG_INVALID',
    `SECRETS_KEY: the secrets in the database are encrypted with another key (${keyId}). Set SECRETS_KEY to that ` +
      'key, or add it to SECRETS_OLD_KEYS.',
  );
}
