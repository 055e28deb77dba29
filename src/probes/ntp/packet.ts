/** Size of a packet without extension fields (RFC 5905 section 7.3). */
export const packetSizeBytes = 48;

const unixOfNtpSeconds = 2_208_988_800;
const versionFour = 4 << 3;
const clientMode = 3;
const serverMode = 4;
/** Offset of the timestamp that a server copies from the request's transmit timestamp. */
const originAt = 24;
const transmitAt = 40;

/** Leap indicator (RFC 5905 figure 9). */
const leapStates = ['none', 'insert', 'delete', 'unsynchronized'] as const;
export type LeapState = (typeof leapStates)[number];

/** Facts of a server about itself and its clock. Times are those of its clock. */
export interface NtpAnswer {
  readonly version: number;
  readonly leap: LeapState;
  /** 1: a reference clock is attached; 2 to 15: steps from one; 0 and 16: no time. */
  readonly stratum: number;
  /** Four characters that say why the server gives no time (RFC 5905 section 7.4); null if it gives some. */
  readonly kissCode: string | null;
  /** The source of its time: a name with stratum 1, otherwise an IPv4 address, or four bytes of a hash. */
  readonly referenceId: string;
  /** When its clock was last set, in epoch milliseconds; null: never. */
  readonly referenceMs: number | null;
  readonly precisionMs: number;
  /** Round trip to the reference clock, and the error bound that the server has for its own clock. */
  readonly rootDelayMs: number;
  readonly rootDispersionMs: number;
  /** When it received the request, and when it answered, as 64-bit timestamps. */
  readonly received: bigint;
  readonly transmitted: bigint;
}

/** Why a datagram is not the answer to a request. */
export type Mismatch = 'not-ntp' | 'other-request';

/**
 * Returns a request of SNTPv4. Its transmit timestamp is random: it identifies the answer, and an attacker who cannot
 * read the request cannot guess it.
 */
export function requestPacket(nonce: Buffer): Buffer {
  const packet = Buffer.alloc(packetSizeBytes);
  packet[0] = versionFour | clientMode;
  nonce.copy(packet, transmitAt, 0, 8);
  return packet;
}

/** Reads an answer, unless it is not the one to the request with that transmit timestamp. */
export function readAnswer(packet: Buffer, nonce: Buffer): NtpAnswer | Mismatch {
  const [first = 0, stratum = 0] = packet;
  const version = (first >> 3) & 7;
  if (packet.length < packetSizeBytes || version < 1 || version > 4 || (first & 7) !== serverMode) {
    return 'not-ntp';
  }
  // Only a refusal may leave out the time (RFC 4330 section 5).
  if (stratum > 0 && packet.readBigUInt64BE(transmitAt) === 0n) return 'not-ntp';
  if (!packet.subarray(originAt, originAt + 8).equals(nonce.subarray(0, 8))) return 'other-request';
  const reference = packet.subarray(12, 16);
  const kissCode = stratum === 0 ? asCode(reference) : null;
  return {
    version,
    leap: leapStates[first >> 6] ?? 'unsynchronized',
    stratum,
    kissCode,
    referenceId: stratum < 2 ? (asCode(reference) ?? reference.toString('hex')) : [...reference].join('.'),
    referenceMs: epochMs(packet.readBigUInt64BE(16)),
    precisionMs: 1000 * 2 ** packet.readInt8(3),
    rootDelayMs: (packet.readInt32BE(4) / 0x1_0000) * 1000,
    rootDispersionMs: (packet.readUInt32BE(8) / 0x1_0000) * 1000,
    received: packet.readBigUInt64BE(32),
    transmitted: packet.readBigUInt64BE(transmitAt),
  };
}

/** Up to four printable characters; null for anything else. */
function asCode(bytes: Buffer): string | null {
  const text = bytes.toString('latin1').replace(/\0+$/, '');
  return /^[\x21-\x7e]{1,4}$/.test(text) ? text : null;
}

/**
 * Milliseconds from one 64-bit timestamp to another. The difference is taken modulo 2^64, so that it is right across
 * the end of an era in 2036 (RFC 5905 section 6).
 */
export function msBetweenStamps(from: bigint, to: bigint): number {
  return (Number(BigInt.asIntN(64, to - from)) / 2 ** 32) * 1000;
}

/** Converts epoch milliseconds to a 64-bit timestamp of their era. */
export function stampOf(atMs: number): bigint {
  const seconds = Math.floor(atMs / 1000);
  const fraction = Math.min(2 ** 32 - 1, Math.round(((atMs - seconds * 1000) / 1000) * 2 ** 32));
  return (BigInt.asUintN(32, BigInt(seconds + unixOfNtpSeconds)) << 32n) | BigInt(fraction);
}

/** Converts a timestamp to epoch milliseconds, in the era that is nearest to now; null for the unset one. */
function epochMs(stamp: bigint): number | null {
  if (stamp === 0n) return null;
  const nowMs = Date.now();
  return Math.round(nowMs + msBetweenStamps(stampOf(nowMs), stamp));
}
