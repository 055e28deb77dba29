import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';

/** Frame types (RFC 6455 section 5.2), by opcode. */
export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** Codes of a close frame that a client sends (RFC 6455 section 7.4.1). */
export const closeCodes = { normal: 1000, protocolError: 1002, notUtf8: 1007, tooBig: 1009 } as const;

/** Codes for a close without a close frame, and without a code. Neither is ever sent. */
export const abnormalClose = 1006;
export const closeWithoutCode = 1005;

/** A complete message, of one or more frames. */
export interface Message {
  readonly data: Buffer;
  readonly isText: boolean;
}

export interface FrameListener {
  onMessage(message: Message): void;
  onPing(data: Buffer): void;
  onClose(code: number, reason: string): void;
}

export interface FrameLimits {
  /** Limit for all messages together. */
  readonly messageBytes: number;
  readonly messages: number;
  readonly frames: number;
  /** Pings, pongs and the close. */
  readonly controlFrames: number;
}

/** The peer violated the protocol, or exceeded a limit. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
  readonly closeCode: number;
  /** True if only a limit was exceeded. */
  readonly isTooMuch: boolean;

  constructor(message: string, closeCode: number, isTooMuch = false) {
    super(message);
    this.closeCode = closeCode;
    this.isTooMuch = isTooMuch;
  }
}

const maxControlBytes = 125;
/** Two bytes, and eight for the longest length. Frames of servers have no mask. */
const maxHeadBytes = 10;

/**
 * Parses the frames of a server from the pieces that a connection delivers. As strict as browsers: it rejects reserved
 * bits, masks, lengths not in their shortest form, and text that is not UTF-8. Its memory is bounded by its limits,
 * however small the pieces are.
 */
export class FrameReader {
  readonly #listener: FrameListener;
  readonly #limits: FrameLimits;
  readonly #head = Buffer.alloc(maxHeadBytes);
  #headBytes = 0;
  /** Missing payload bytes of the current frame; undefined while its head is read. */
  #leftBytes: number | undefined;
  #opcode = 0;
  #isLast = false;
  readonly #control = Buffer.alloc(maxControlBytes);
  #controlBytes = 0;
  /** Type of the current message; undefined between messages. */
  #isText: boolean | undefined;
  #message = Buffer.alloc(0);
  #messageBytes = 0;
  /** Totals of all messages so far. */
  #readBytes = 0;
  #messageCount = 0;
  #frameCount = 0;
  #controlCount = 0;
  #isClosed = false;
  /** Bytes of the current piece that the frames so far have consumed. */
  position = 0;

  constructor(listener: FrameListener, limits: FrameLimits) {
    this.#listener = listener;
    this.#limits = limits;
  }

  /** Parses the next bytes; data after a close frame is ignored. @throws FrameError */
  feed(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length && !this.#isClosed) {
      at = this.#leftBytes === undefined ? this.#readHead(bytes, at) : this.#readPayload(bytes, at);
      this.position = at;
      if (this.#leftBytes === 0) this.#complete();
    }
  }

  #readHead(bytes: Buffer, at: number): number {
    this.#head[this.#headBytes] = bytes[at] ?? 0;
    this.#headBytes += 1;
    if (this.#headBytes === 2) this.#judgeHead();
    if (this.#headBytes >= 2) {
      const written = (this.#head[1] ?? 0) & 0x7f;
      const wantedBytes = written === 127 ? 10 : written === 126 ? 4 : 2;
      if (this.#headBytes === wantedBytes) this.#begin(written);
    }
    return at + 1;
  }

  /** Checks the first two bytes. */
  #judgeHead(): void {
    const [first = 0, second = 0] = this.#head;
    this.#frameCount += 1;
    if (this.#frameCount > this.#limits.frames) throw tooMuch(`more than ${this.#limits.frames} frames`);
    this.#isLast = (first & 0x80) !== 0;
    this.#opcode = first & 0x0f;
    if ((first & 0x70) !== 0) {
      const isPacked = (first & 0x40) !== 0;
      throw broken(
        `a frame with a reserved bit${isPacked ? ' (compressed, without negotiated compression)' : ''}`,
      );
    }
    if ((second & 0x80) !== 0) throw broken('a masked frame, which only clients may send');
    if (!isKnown(this.#opcode)) throw broken(`a frame with the unknown opcode ${this.#opcode}`);
    if (this.#opcode >= opcodes.close) {
      this.#controlCount += 1;
      if (this.#controlCount > this.#limits.controlFrames) {
        throw tooMuch(`more than ${this.#limits.controlFrames} pings and pongs`);
      }
      if (!this.#isLast) throw broken('a fragmented control frame');
      if ((second & 0x7f) > maxControlBytes)
        throw broken(`a control frame of more than ${maxControlBytes} bytes`);
      return;
    }
    if (this.#opcode === opcodes.continuation) {
      if (this.#isText === undefined) throw broken('a continuation frame without a message');
    } else if (this.#isText !== undefined) {
      throw broken('a new message before the end of the previous one');
    } else {
      this.#isText = this.#opcode === opcodes.text;
    }
  }

  /** The head is complete. */
  #begin(written: number): void {
    const length = this.#lengthOf(written);
    this.#headBytes = 0;
    this.#controlBytes = 0;
    if (this.#opcode < opcodes.close && this.#readBytes + length > this.#limits.messageBytes) {
      const most = this.#limits.messageBytes;
      throw tooMuch(`more than ${most} bytes of messages, with a frame of ${length}`);
    }
    this.#leftBytes = Number(length);
  }

  #lengthOf(written: number): number {
    if (written < 126) return written;
    if (written === 126) {
      const length = this.#head.readUInt16BE(2);
      if (length < 126) throw broken('a length that is not encoded minimally');
      return length;
    }
    const length = this.#head.readBigUInt64BE(2);
    if (length > 0x7fff_ffff_ffff_ffffn) throw broken('a length with its first bit set');
    if (length < 65_536n) throw broken('a length that is not encoded minimally');
    return Number(length);
  }

  #readPayload(bytes: Buffer, at: number): number {
    const sizeBytes = Math.min(this.#leftBytes ?? 0, bytes.length - at);
    if (this.#opcode >= opcodes.close) {
      bytes.copy(this.#control, this.#controlBytes, at, at + sizeBytes);
      this.#controlBytes += sizeBytes;
    } else {
      this.#append(bytes.subarray(at, at + sizeBytes));
    }
    this.#leftBytes = (this.#leftBytes ?? 0) - sizeBytes;
    return at + sizeBytes;
  }

  /** A single growing buffer: a peer that sends single bytes must not cost a buffer for each. */
  #append(bytes: Buffer): void {
    const neededBytes = this.#messageBytes + bytes.length;
    if (neededBytes > this.#message.length) {
      const grown = Buffer.alloc(
        Math.max(neededBytes, Math.min(2 * this.#message.length, this.#limits.messageBytes)),
      );
      this.#message.copy(grown, 0, 0, this.#messageBytes);
      this.#message = grown;
    }
    bytes.copy(this.#message, this.#messageBytes);
    this.#messageBytes = neededBytes;
    this.#readBytes += bytes.length;
  }

  /** The frame is complete. */
  #complete(): void {
    this.#leftBytes = undefined;
    if (this.#opcode < opcodes.close) {
      if (this.#isLast) this.#completeMessage();
      return;
    }
    const data = Buffer.from(this.#control.subarray(0, this.#controlBytes));
    if (this.#opcode === opcodes.ping) this.#listener.onPing(data);
    else if (this.#opcode === opcodes.close) this.#close(data);
  }

  #completeMessage(): void {
    const data = Buffer.from(this.#message.subarray(0, this.#messageBytes));
    const isText = this.#isText === true;
    this.#isText = undefined;
    this.#messageBytes = 0;
    if (isText && !isUtf8(data)) throw new FrameError('a text message that is not UTF-8', closeCodes.notUtf8);
    this.#messageCount += 1;
    if (this.#messageCount > this.#limits.messages)
      throw tooMuch(`more than ${this.#limits.messages} messages`);
    this.#listener.onMessage({ data, isText });
  }

  #close(data: Buffer): void {
    this.#isClosed = true;
    if (data.length === 0) {
      this.#listener.onClose(closeWithoutCode, '');
      return;
    }
    if (data.length === 1) throw broken('a close frame with an incomplete code');
    const code = data.readUInt16BE(0);
    if (!isSendable(code)) throw broken(`a close frame with the code ${code}, which must not be sent`);
    const reason = data.subarray(2);
    if (!isUtf8(reason)) throw new FrameError('a close reason that is not UTF-8', closeCodes.notUtf8);
    this.#listener.onClose(code, reason.toString('utf8'));
  }
}

/** Encodes a client frame: masked, as section 5.3 requires. */
export function clientFrame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const lengthBytes = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const frame = Buffer.alloc(2 + lengthBytes + 4 + length);
  frame[0] = 0x80 | opcode;
  frame[1] = 0x80 | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127);
  if (lengthBytes === 2) frame.writeUInt16BE(length, 2);
  else if (lengthBytes === 8) frame.writeBigUInt64BE(BigInt(length), 2);
  const mask = randomBytes(4);
  const start = 2 + lengthBytes;
  mask.copy(frame, start);
  for (let index = 0; index < length; index += 1) {
    frame[start + 4 + index] = (payload[index] ?? 0) ^ (mask[index & 3] ?? 0);
  }
  return frame;
}

/** Encodes a client's close frame. */
export function closeFrame(code: number): Buffer {
  const payload = Buffer.alloc(code === closeWithoutCode ? 0 : 2);
  if (payload.length > 0) payload.writeUInt16BE(code);
  return clientFrame(opcodes.close, payload);
}

function isKnown(opcode: number): boolean {
  return opcode <= opcodes.binary || (opcode >= opcodes.close && opcode <= opcodes.pong);
}

/** Codes allowed in a close frame: those of RFC 6455 and its registry, of libraries, and of applications. */
function isSendable(code: number): boolean {
  const isRegistered =
    code >= 1000 && code <= 1014 && code !== 1004 && code !== 1005 && code !== abnormalClose;
  return isRegistered || (code >= 3000 && code <= 4999);
}

function broken(message: string): FrameError {
  return new FrameError(message, closeCodes.protocolError);
}

function tooMuch(message: string): FrameError {
  return new FrameError(message, closeCodes.tooBig, true);
}
