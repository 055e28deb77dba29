import { bytes, Malformed, type Preamble, quoted, Refusal, type Want } from './preamble.ts';

/** Capabilities of MySQL (protocol 4.1), as bits. */
export const mysqlCapabilities = {
  longPassword: 0x1,
  withDatabase: 0x8,
  protocol41: 0x200,
  tls: 0x800,
  transactions: 0x2000,
  secureConnection: 0x8000,
  multiResults: 0x2_0000,
  pluginAuth: 0x8_0000,
  connectAttributes: 0x10_0000,
  longAuthData: 0x20_0000,
} as const;

/** Largest packet that the client says it can take, in bytes. */
export const maxMysqlPacketBytes = 0x0100_0000;
/** The id of `utf8mb4_general_ci`, which MySQL since 5.5.3 and MariaDB have. */
export const mysqlUtf8 = 45;

/** Real greetings have about a hundred bytes. */
const maxGreetingBytes = 4096;
const headerBytes = 4;
const saltBytes = 20;
const shortSaltBytes = 8;

/** The first packet of a server of MySQL. */
export interface MysqlGreeting {
  readonly serverVersion: string;
  /** Bits as in `mysqlCapabilities`. */
  readonly capabilities: number;
  /** Random bytes for the login: 20, or 8 of servers before 4.1. */
  readonly salt: Buffer;
  /** Name of the login method that the server would take; empty if it names none. */
  readonly plugin: string;
}

/** An error packet. */
export interface MysqlError {
  readonly errorCode: number;
  readonly sqlState: string;
  readonly message: string;
}

/** The server greets with an error: it takes no client now, or not this one. */
export class GreetedWithError extends Refusal {
  readonly error: MysqlError;

  constructor(error: MysqlError) {
    super(`the server greeted with the error ${quoted(error.message)}`);
    this.error = error;
  }
}

/** Requests TLS from a server of MySQL, which greets with its capabilities before. */
export function* mysql(): Preamble {
  const { protocol41, secureConnection } = mysqlCapabilities;
  yield* requestTls(yield* mysqlGreeting(), protocol41 | secureConnection);
}

/** Reads the greeting of a server. @throws GreetedWithError, Malformed */
export function* mysqlGreeting(): Generator<Want, MysqlGreeting, Buffer> {
  const head = yield* bytes(headerBytes);
  const sizeBytes = head.readUIntLE(0, 3);
  // Fail instead of waiting: the first bytes of another protocol suggest a length that never arrives.
  if (head[3] !== 0 || sizeBytes === 0 || sizeBytes > maxGreetingBytes) {
    throw new Malformed(`the server greeting is not MySQL: ${quoted(head.toString('latin1'))}`);
  }
  const packet = yield* bytes(sizeBytes);
  if (packet[0] === 0xff) throw new GreetedWithError(mysqlError(packet));
  return greetingIn(packet);
}

/**
 * Sends the request for TLS, which is the beginning of the answer to the greeting. Servers keep the capabilities of this
 * packet, and not those of the whole answer in TLS.
 *
 * @throws Refusal
 */
export function* requestTls({ capabilities }: MysqlGreeting, wanted: number): Preamble {
  if ((capabilities & mysqlCapabilities.tls) === 0) throw new Refusal('the server does not offer TLS');
  const head = mysqlAnswerHead(wanted | mysqlCapabilities.tls);
  const frame = Buffer.from([head.length, 0, 0, 1]);
  yield { kind: 'say', data: Buffer.concat([frame, head]) };
}

/** The first 32 bytes of an answer to a greeting. */
export function mysqlAnswerHead(capabilities: number): Buffer {
  const head = Buffer.alloc(32);
  head.writeUInt32LE(capabilities, 0);
  head.writeUInt32LE(maxMysqlPacketBytes, 4);
  head[8] = mysqlUtf8;
  return head;
}

/** Reads an error packet; before the login it may have no SQLSTATE. */
export function mysqlError(packet: Buffer): MysqlError {
  const errorCode = packet.length < 3 ? 0 : packet.readUInt16LE(1);
  const text = packet.toString('utf8', 3);
  const [, sqlState = 'HY000', message = text] = /^#([\dA-Z]{5})([\s\S]*)$/.exec(text) ?? [];
  return { errorCode, sqlState, message };
}

/** @throws Malformed */
function greetingIn(packet: Buffer): MysqlGreeting {
  const versionEnd = packet.indexOf(0, 1);
  // After the version: the id of the connection, the beginning of the salt, a zero, half of the capabilities.
  const saltAt = versionEnd + 1 + 4;
  const lowAt = saltAt + shortSaltBytes + 1;
  if (packet[0] !== 10 || versionEnd < 0 || packet.length < lowAt + 2) {
    throw new Malformed('the server greeting is not MySQL');
  }
  const serverVersion = packet.toString('latin1', 1, versionEnd);
  const low = packet.readUInt16LE(lowAt);
  // Then character set, status, the other half, the length of the salt, and ten bytes without a meaning for us.
  const highAt = lowAt + 2 + 1 + 2;
  const restAt = highAt + 2 + 1 + 10;
  const shortSalt = packet.subarray(saltAt, saltAt + shortSaltBytes);
  if (packet.length < restAt) return { serverVersion, capabilities: low, salt: shortSalt, plugin: '' };
  const saltEnd = restAt + saltBytes - shortSaltBytes;
  const plugin = packet.toString('latin1', saltEnd + 1);
  return {
    serverVersion,
    // Without a sign, although JavaScript's bits have one.
    capabilities: low + packet.readUInt16LE(highAt) * 0x1_0000,
    salt: Buffer.concat([shortSalt, packet.subarray(restAt, saltEnd)]),
    plugin: plugin.replace(/\0[\s\S]*$/, ''),
  };
}
