import { constants, createHash, createPublicKey, publicEncrypt } from 'node:crypto';
import { toError } from '@picket/lib/errors.ts';
import { SqlMalformed, SqlRefusal } from '../session.ts';
import { withZero } from './fields.ts';

export interface LoginParameters {
  readonly password: string;
  /** Random bytes of the server. */
  readonly salt: Buffer;
  /** Whether TLS protects what is sent. */
  readonly isSecure: boolean;
}

/** The client's side of a login method: yields what it sends, and receives what the server sends then. */
export type LoginMethod = (parameters: LoginParameters) => Generator<Buffer, void, Buffer>;

/** Login methods by the names that servers call them ("authentication plugins" in the manuals of MySQL and MariaDB). */
export const loginMethods: ReadonlyMap<string, LoginMethod> = new Map([
  ['mysql_native_password', nativePassword],
  ['caching_sha2_password', cachingSha2],
  ['sha256_password', sha256],
  ['mysql_clear_password', clearPassword],
]);

/** The error of clients of MySQL for a login method that they do not have (CR_AUTH_PLUGIN_CANNOT_LOAD). */
export function methodRefusal(message: string): SqlRefusal {
  return new SqlRefusal(message, 'HY000', 2059);
}

/** SHA1(password) XOR SHA1(salt, SHA1(SHA1(password))). */
function* nativePassword({ password, salt }: LoginParameters): Generator<Buffer, void, Buffer> {
  if (password === '') yield* last(Buffer.alloc(0));
  const once = hash('sha1', password);
  yield* last(xor(once, hash('sha1', whole(salt), hash('sha1', once))));
}

const saltBytes = 20;
const requestPublicKey = { cachingSha2: 2, sha256: 1 } as const;
const isKnown = 3;
const isPasswordWanted = 4;

/** SHA256(password) XOR SHA256(SHA256(SHA256(password)), salt); a server that does not know the user yet wants the password. */
function* cachingSha2(parameters: LoginParameters): Generator<Buffer, void, Buffer> {
  const { password, salt } = parameters;
  if (password === '') yield* last(Buffer.alloc(0));
  const once = hash('sha256', password);
  const [answer] = yield xor(once, hash('sha256', hash('sha256', once), whole(salt)));
  if (answer === isKnown) return;
  if (answer !== isPasswordWanted)
    throw new SqlMalformed('the server answers caching_sha2_password strangely');
  yield* wholePassword(parameters, requestPublicKey.cachingSha2);
}

function* sha256(parameters: LoginParameters): Generator<Buffer, void, Buffer> {
  if (parameters.password === '') yield* last(Buffer.from([0]));
  yield* wholePassword(parameters, requestPublicKey.sha256);
}

/** The password itself in TLS; without TLS encrypted with the key that the server sends. */
function* wholePassword(
  { password, salt, isSecure }: LoginParameters,
  request: number,
): Generator<Buffer, void, Buffer> {
  const ended = withZero(password);
  if (isSecure) yield* last(ended);
  const key = yield Buffer.from([request]);
  yield* last(encrypted(xor(ended, whole(salt)), key));
}

/** RSA with OAEP, as MySQL does it. @throws SqlMalformed for an invalid key, or one that is too short. */
function encrypted(data: Buffer, pem: Buffer): Buffer {
  try {
    const key = createPublicKey(pem);
    if (key.asymmetricKeyType !== 'rsa') throw new Error(`it is of the type ${key.asymmetricKeyType}`);
    return publicEncrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha1' }, data);
  } catch (thrown) {
    throw new SqlMalformed(`the key of the server cannot encrypt the password: ${toError(thrown).message}`);
  }
}

/** For servers that ask another one, such as LDAP or PAM. */
function* clearPassword({ password, isSecure }: LoginParameters): Generator<Buffer, void, Buffer> {
  if (!isSecure)
    throw methodRefusal('the server asks for the password in plain text, which needs TLS (useSSL)');
  yield* last(withZero(password));
}

/** Sends what a method ends with: the server has nothing left to ask. */
function* last(data: Buffer): Generator<Buffer, never, Buffer> {
  yield data;
  throw new SqlMalformed('the server asks for more than its login method has');
}

/** @throws SqlMalformed for fewer bytes: an answer to them could be used again. */
function whole(salt: Buffer): Buffer {
  if (salt.length < saltBytes) throw new SqlMalformed('the server sent no random bytes for the login');
  return salt;
}

function hash(algorithm: 'sha1' | 'sha256', ...parts: readonly (Buffer | string)[]): Buffer {
  const digest = createHash(algorithm);
  for (const part of parts) digest.update(part);
  return digest.digest();
}

/** Combines bits with a mask, which is repeated. */
function xor(data: Buffer, mask: Buffer): Buffer {
  return Buffer.from(data.map((byte, index) => byte ^ (mask[index % mask.length] ?? 0)));
}
