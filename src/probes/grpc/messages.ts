import { promisify } from 'node:util';
import { gunzip, inflate } from 'node:zlib';
import { errorCodeOf } from '@picket/lib/errors.ts';
import { type GrpcStatus, ownStatus } from './status.ts';

const prefixBytes = 5;

/** Frames a message for the wire, without compression. */
export function framed(message: Uint8Array): Buffer {
  const frame = Buffer.alloc(prefixBytes + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, prefixBytes);
  return frame;
}

/** Limits for a response. */
export interface MessageLimits {
  /** Limit for one message, and for the decompressed total. */
  readonly bytes: number;
  readonly messages: number;
}

/** A response that cannot be read further, with the matching gRPC status. */
export class UnreadableMessage extends Error {
  override readonly name = 'UnreadableMessage';
  readonly status: GrpcStatus;

  constructor(status: GrpcStatus) {
    super(status.message);
    this.status = status;
  }
}

interface Frame {
  readonly isCompressed: boolean;
  readonly bytes: Buffer;
}

/** Splits a stream of bytes into messages, independent of packet boundaries. */
export class MessageReader {
  readonly #limits: MessageLimits;
  readonly #frames: Frame[] = [];
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  #totalBytes = 0;

  constructor(limits: MessageLimits) {
    this.#limits = limits;
  }

  /** Number of complete messages. */
  get count(): number {
    return this.#frames.length;
  }

  /** True if the last message has begun but not ended. */
  get isInside(): boolean {
    return this.#pieceBytes > 0;
  }

  /** @throws UnreadableMessage */
  write(bytes: Buffer): void {
    this.#pieces.push(bytes);
    this.#pieceBytes += bytes.length;
    // Pieces are joined only when needed: a peer that sends single bytes must not cost a copy for each.
    while (this.#pieceBytes >= prefixBytes) {
      const prefix = this.#start();
      const sizeBytes = prefix.readUInt32BE(1);
      this.#check(prefix[0] ?? 0, sizeBytes);
      if (this.#pieceBytes < prefixBytes + sizeBytes) return;
      const whole = this.#pieces.length === 1 ? prefix : Buffer.concat(this.#pieces);
      const end = prefixBytes + sizeBytes;
      this.#frames.push({ isCompressed: prefix[0] === 1, bytes: whole.subarray(prefixBytes, end) });
      this.#totalBytes += sizeBytes;
      this.#pieces = whole.length > end ? [whole.subarray(end)] : [];
      this.#pieceBytes = whole.length - end;
    }
  }

  /** Returns the first piece, joined so that it contains the whole prefix. */
  #start(): Buffer {
    const [first] = this.#pieces;
    if (first && first.length >= prefixBytes) return first;
    const joined = Buffer.concat(this.#pieces);
    this.#pieces = [joined];
    return joined;
  }

  #check(flag: number, sizeBytes: number): void {
    if (flag > 1)
      throw new UnreadableMessage(ownStatus('INTERNAL', `a message has the unknown flag ${flag}`));
    if (this.#totalBytes + sizeBytes > this.#limits.bytes)
      throw this.#tooMuch(`a message of ${sizeBytes} bytes`);
    if (this.#frames.length >= this.#limits.messages)
      throw this.#tooMuch(`more than ${this.#limits.messages} messages`);
  }

  #tooMuch(what: string): UnreadableMessage {
    const most = `${this.#limits.bytes} bytes and ${this.#limits.messages} messages are the maximum`;
    return new UnreadableMessage(ownStatus('RESOURCE_EXHAUSTED', `the response has ${what}: ${most}`));
  }

  /**
   * Returns the messages so far, decompressed.
   *
   * @param encoding value of `grpc-encoding` for compressed messages.
   * @throws UnreadableMessage
   */
  async messages(encoding: string): Promise<Buffer[]> {
    const messages: Buffer[] = [];
    let leftBytes = this.#limits.bytes;
    for (const { isCompressed, bytes } of this.#frames) {
      const message = isCompressed ? await this.#decompressed(bytes, encoding, leftBytes) : bytes;
      leftBytes -= message.length;
      if (leftBytes < 0) throw this.#tooMuch('messages that decompress to more');
      messages.push(message);
    }
    return messages;
  }

  async #decompressed(bytes: Buffer, encoding: string, leftBytes: number): Promise<Buffer> {
    const decompress = decompressors[encoding];
    if (!decompress) {
      const named = encoding === '' ? 'no encoding' : `the encoding ${JSON.stringify(encoding.slice(0, 40))}`;
      const message = `a message is compressed, but the response declares ${named}`;
      const isNamed = encoding !== '' && encoding !== 'identity';
      throw new UnreadableMessage(ownStatus(isNamed ? 'UNIMPLEMENTED' : 'INTERNAL', message));
    }
    try {
      return await decompress(bytes, { maxOutputLength: Math.max(1, leftBytes) });
    } catch (thrown) {
      if (errorCodeOf(thrown) === 'ERR_BUFFER_TOO_LARGE')
        throw this.#tooMuch('messages that decompress to more');
      throw new UnreadableMessage(ownStatus('INTERNAL', `a message is not valid ${encoding}`));
    }
  }
}

const decompressors: Readonly<
  Record<string, (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>>
> = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
};
