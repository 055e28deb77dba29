import { createHash, createHmac } from 'node:crypto';
import { md4 } from './md4.ts';

/*
 * Messages of NTLM (MS-NLMP section 2.2.1) and the computations of NTLMv2 (section 3.3.2). Texts are Unicode; sessions are
 * neither signed nor sealed, as HTTP needs neither. NTLMv1 and LM responses are not offered.
 */

const signature = Buffer.from('NTLMSSP\0', 'latin1');

/** Section 2.2.2.5: Unicode, target name, NTLM, always sign, extended session security, target info, 128 bits. */
const flags = 0x00000001 | 0x00000004 | 0x00000200 | 0x00008000 | 0x00080000 | 0x00800000 | 0x20000000;

/** Section 2.2.2.1. */
const pairIds = { end: 0, flags: 6, timestamp: 7, targetName: 9, channelBindings: 10 } as const;
/** The client sends a message integrity code. */
const hasCode = 0x2;

/** With the version, which is zero: some servers refuse a message without its place. */
const negotiateBytes = 40;
/** Header of an AUTHENTICATE message with version and integrity code. */
const authenticateBytes = 88;
const codeOffset = 72;
/** A challenge without target information, as older servers send it. */
const smallestChallenge = 32;
const challengeBytes = 48;

/** A CHALLENGE message. */
export interface NtlmChallenge {
  readonly bytes: Buffer;
  readonly nonce: Buffer;
  readonly flags: number;
  /** Attribute-value pairs, without the end. */
  readonly targetInfo: readonly (readonly [id: number, value: Buffer])[];
}

/** The message with which a login begins; it says nothing of the client. */
export function negotiateMessage(): Buffer {
  const message = Buffer.alloc(negotiateBytes);
  signature.copy(message);
  message.writeUInt32LE(1, 8);
  message.writeUInt32LE(flags, 12);
  return message;
}

/** Reads a CHALLENGE message; a text says what is wrong with it. */
export function readChallenge(bytes: Buffer): NtlmChallenge | string {
  if (bytes.length < smallestChallenge) return `it has ${bytes.length} bytes`;
  if (!bytes.subarray(0, 8).equals(signature) || bytes.readUInt32LE(8) !== 2) return 'it is not a challenge';
  const given = bytes.readUInt32LE(20);
  if ((given & 0x1) === 0) return 'the server does not use Unicode';
  const nonce = bytes.subarray(24, 32);
  if (bytes.length < challengeBytes) return { bytes, nonce, flags: given, targetInfo: [] };
  const [sizeBytes, offset] = [bytes.readUInt16LE(40), bytes.readUInt32LE(44)];
  if (offset + sizeBytes > bytes.length) return 'its target information lies outside';
  const targetInfo = readPairs(bytes.subarray(offset, offset + sizeBytes));
  if (targetInfo === undefined) return 'its target information is damaged';
  return { bytes, nonce, flags: given, targetInfo };
}

function readPairs(bytes: Buffer): (readonly [number, Buffer])[] | undefined {
  const pairs: (readonly [number, Buffer])[] = [];
  let position = 0;
  while (position + 4 <= bytes.length) {
    const [id, sizeBytes] = [bytes.readUInt16LE(position), bytes.readUInt16LE(position + 2)];
    if (id === pairIds.end) return pairs;
    position += 4;
    if (position + sizeBytes > bytes.length) return undefined;
    pairs.push([id, bytes.subarray(position, position + sizeBytes)]);
    position += sizeBytes;
  }
  // Some servers leave out the end.
  return position === bytes.length ? pairs : undefined;
}

/** User and password. */
export interface NtlmCredentials {
  readonly username: string;
  readonly password: string;
  /** Empty: the domain of the server. */
  readonly domain: string;
}

/** Section 3.3.2, NTOWFv2. */
export function ntlmV2Hash({ username, password, domain }: NtlmCredentials): Buffer {
  // Windows maps each character to one other: ß stays.
  const upperName = [...username].map((sign) =>
    sign.toUpperCase().length === sign.length ? sign.toUpperCase() : sign,
  );
  return hmac(md4(utf16(password)), utf16(upperName.join('') + domain));
}

export interface NtlmV2Response {
  /** NtChallengeResponse: the proof, and what it proves. */
  readonly response: Buffer;
  readonly lmResponse: Buffer;
  readonly sessionKey: Buffer;
}

/** Section 3.3.2, ComputeResponse. @param info the pairs as the client sends them back. */
export function ntlmV2Response(
  hash: Buffer,
  serverNonce: Buffer,
  given: {
    readonly clientNonce: Buffer;
    readonly time: Buffer;
    readonly info: Buffer;
    readonly isTimed: boolean;
  },
): NtlmV2Response {
  const { clientNonce, time, info, isTimed } = given;
  const temp = Buffer.concat([
    Buffer.from([1, 1, 0, 0, 0, 0, 0, 0]),
    time,
    clientNonce,
    Buffer.alloc(4),
    info,
    Buffer.alloc(4),
  ]);
  const proof = hmac(hash, serverNonce, temp);
  // Section 3.1.5.1.2: a client that got a time sends no LM response.
  const lmResponse = isTimed
    ? Buffer.alloc(24)
    : Buffer.concat([hmac(hash, serverNonce, clientNonce), clientNonce]);
  return { response: Buffer.concat([proof, temp]), lmResponse, sessionKey: hmac(hash, proof) };
}

/** Answers a challenge, with an integrity code and channel bindings (section 3.1.5.1.2). */
export function authenticateMessage(
  credentials: NtlmCredentials,
  challenge: NtlmChallenge,
  given: {
    readonly negotiate: Buffer;
    readonly hostname: string;
    /** RFC 5929 section 4, `tls-server-end-point:` and the hash of the certificate; undefined without TLS. */
    readonly binding: Buffer | undefined;
    readonly clientNonce: Buffer;
    readonly nowMs: number;
  },
): Buffer {
  const stamp = challenge.targetInfo.find(([id]) => id === pairIds.timestamp)?.[1];
  const isTimed = stamp?.length === 8;
  const info = clientInfo(challenge, { ...given, isTimed });
  const { response, lmResponse, sessionKey } = ntlmV2Response(ntlmV2Hash(credentials), challenge.nonce, {
    clientNonce: given.clientNonce,
    time: isTimed ? stamp : fileTime(given.nowMs),
    info,
    isTimed,
  });
  const message = Buffer.alloc(authenticateBytes);
  signature.copy(message);
  message.writeUInt32LE(3, 8);
  const parts = [
    [12, lmResponse],
    [20, response],
    [28, utf16(credentials.domain)],
    [36, utf16(credentials.username)],
    // Workstation, and the key of a sealed session.
    [44, Buffer.alloc(0)],
    [52, Buffer.alloc(0)],
  ] as const;
  let offset = authenticateBytes;
  for (const [at, part] of parts) {
    message.writeUInt16LE(part.length, at);
    message.writeUInt16LE(part.length, at + 2);
    message.writeUInt32LE(offset, at + 4);
    offset += part.length;
  }
  message.writeUInt32LE(flags & challenge.flags, 60);
  const whole = Buffer.concat([message, ...parts.map(([, part]) => part)]);
  if (isTimed) hmac(sessionKey, given.negotiate, challenge.bytes, whole).copy(whole, codeOffset);
  return whole;
}

/** The pairs of the server with those of the client, and their end. */
function clientInfo(
  { targetInfo }: NtlmChallenge,
  given: { readonly hostname: string; readonly binding: Buffer | undefined; readonly isTimed: boolean },
): Buffer {
  const own: readonly number[] = [pairIds.flags, pairIds.targetName, pairIds.channelBindings];
  const before = targetInfo.find(([id]) => id === pairIds.flags)?.[1];
  const givenFlags = before?.length === 4 ? before.readUInt32LE() : 0;
  const flagBytes = Buffer.alloc(4);
  flagBytes.writeUInt32LE(given.isTimed ? (givenFlags | hasCode) >>> 0 : givenFlags);
  const pairs = [
    ...targetInfo.filter(([id]) => !own.includes(id)),
    [pairIds.flags, flagBytes],
    [pairIds.channelBindings, bindingHash(given.binding)],
    [pairIds.targetName, utf16(`HTTP/${given.hostname}`)],
    [pairIds.end, Buffer.alloc(0)],
  ] as const;
  return Buffer.concat(
    pairs.flatMap(([id, value]) => {
      const head = Buffer.alloc(4);
      head.writeUInt16LE(id);
      head.writeUInt16LE(value.length, 2);
      return [head, value];
    }),
  );
}

/** MD5 of a gss_channel_bindings_struct (RFC 2744 section 3.11) without addresses; zeros without bindings. */
function bindingHash(binding: Buffer | undefined): Buffer {
  if (!binding) return Buffer.alloc(16);
  const head = Buffer.alloc(20);
  head.writeUInt32LE(binding.length, 16);
  return createHash('md5').update(head).update(binding).digest();
}

/** Ticks of 100 ns since 1601. */
function fileTime(nowMs: number): Buffer {
  const time = Buffer.alloc(8);
  time.writeBigUInt64LE((BigInt(Math.floor(nowMs)) + 11_644_473_600_000n) * 10_000n);
  return time;
}

function utf16(text: string): Buffer {
  return Buffer.from(text, 'utf16le');
}

function hmac(key: Buffer, ...parts: readonly Buffer[]): Buffer {
  const mac = createHmac('md5', key);
  for (const part of parts) mac.update(part);
  return mac.digest();
}
