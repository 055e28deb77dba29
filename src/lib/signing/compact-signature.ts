import { type KeyObject, sign, verify } from 'node:crypto';
import { isRecord } from '../json/record.ts';
import { keyIdOf } from './signing-keys.ts';

/** JSON with its signature as one text: a JWS in compact form (RFC 7515) with Ed25519 (`EdDSA`, RFC 8037). */
export interface CompactSignature {
  readonly keyId: string;
  readonly payload: unknown;
  /** Whether the holder of a key signed this text. */
  isSignedBy(key: KeyObject): boolean;
}

const maxDepth = 64;
const textPattern = /^([\w-]+)\.([\w-]+)\.([\w-]{86})$/;

/** Signs a value that JSON can hold. @param type names the kind of payload, so that one kind never passes for another. */
export function signCompact(payload: unknown, type: string, key: KeyObject): string {
  const signed = `${encoded({ alg: 'EdDSA', kid: keyIdOf(key), typ: type })}.${encoded(payload)}`;
  return `${signed}.${sign(null, Buffer.from(signed), key).toString('base64url')}`;
}

/** Reads such a text without verifying it; undefined if it is not one of that type. */
export function readCompact(text: string, type: string): CompactSignature | undefined {
  const [, head, body, signature] = textPattern.exec(text) ?? [];
  if (head === undefined || body === undefined || signature === undefined) return undefined;
  const header = decoded(head);
  const payload = decoded(body);
  if (isDeep(payload)) return undefined;
  if (!isRecord(header) || header['alg'] !== 'EdDSA' || header['typ'] !== type || payload === undefined)
    return undefined;
  const { kid } = header;
  if (typeof kid !== 'string' || !/^[0-9a-f]{16}$/.test(kid)) return undefined;
  return {
    keyId: kid,
    payload,
    isSignedBy: (key) =>
      verify(null, Buffer.from(`${head}.${body}`), key, Buffer.from(signature, 'base64url')),
  };
}

/** Whether a value is nested too deeply for functions that walk through it. */
function isDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return true;
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
  }
  return false;
}

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function decoded(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}
