import type { Socket } from 'node:net';
import { SqlMalformed } from '../session.ts';

/** A longer packet continues in a second one. */
const longestBytes = 0xff_ffff;
const headerBytes = 4;

/** Packets of MySQL over a connection: each has three bytes of length and a number. */
export class MysqlPackets {
  readonly #socket: Socket;
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #waitingBytes = 0;
  #takenBytes = 0;
  #ending: Error | undefined;
  #wake: (() => void) | undefined;
  /** Number of the next packet, of either side. */
  #number: number;

  /**
   * @param options.maxBytes of all that the server may send.
   * @param options.number of the next packet: 0 before the greeting.
   */
  constructor(socket: Socket, options: { readonly maxBytes: number; readonly number: number }) {
    this.#socket = socket;
    this.#maxBytes = options.maxBytes;
    this.#number = options.number;
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#waitingBytes += chunk.length;
      // Earlier packets are still read: an error, and the end of the connection after it.
      if (this.#takenBytes + this.#waitingBytes > this.#maxBytes) this.#end(this.#tooMuch());
      else this.#wake?.();
    });
    const closed = () => this.#end(closedByServer());
    socket.on('error', (error) => this.#end(error));
    socket.on('end', closed);
    socket.on('close', closed);
    socket.resume();
  }

  /** Waits for a packet. @throws SqlMalformed, or the error of the connection. */
  async next(): Promise<Buffer> {
    for (;;) {
      const packet = this.take();
      if (packet) return packet;
      if (this.#ending) throw this.#ending;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  /** Returns a packet that has arrived already. @throws SqlMalformed */
  take(): Buffer | undefined {
    if (this.#waitingBytes < headerBytes) return undefined;
    const head = this.#joined(headerBytes);
    const sizeBytes = head.readUIntLE(0, 3);
    // Before the packet is there: for a wrong length the run would wait until its end.
    if (sizeBytes === longestBytes || this.#takenBytes + headerBytes + sizeBytes > this.#maxBytes) {
      throw this.#tooMuch();
    }
    if (head[3] !== this.#number) {
      throw new SqlMalformed(`the server sent packet ${head[3]} where ${this.#number} is due`);
    }
    const wholeBytes = headerBytes + sizeBytes;
    if (this.#waitingBytes < wholeBytes) return undefined;
    const whole = this.#joined(wholeBytes);
    this.#chunks[0] = whole.subarray(wholeBytes);
    this.#waitingBytes -= wholeBytes;
    this.#takenBytes += wholeBytes;
    this.#count();
    return whole.subarray(headerBytes, wholeBytes);
  }

  send(payload: Buffer): void {
    const head = Buffer.alloc(headerBytes);
    head.writeUIntLE(payload.length, 0, 3);
    head[3] = this.#number;
    this.#count();
    this.#socket.write(Buffer.concat([head, payload]));
  }

  /** Sends the first packet of a command: numbers begin anew. */
  command(payload: Buffer): void {
    this.#number = 0;
    this.send(payload);
  }

  #count(): void {
    this.#number = (this.#number + 1) & 0xff;
  }

  /** The first chunk, which holds at least `sizeBytes` afterwards; that many are waiting. */
  #joined(sizeBytes: number): Buffer {
    const [first = Buffer.alloc(0)] = this.#chunks;
    if (first.length >= sizeBytes) return first;
    const joined = Buffer.concat(this.#chunks);
    this.#chunks = [joined];
    return joined;
  }

  #tooMuch(): SqlMalformed {
    return new SqlMalformed(`the server sent more than ${this.#maxBytes} bytes`);
  }

  #end(error: Error): void {
    this.#ending ??= error;
    this.#wake?.();
  }
}

/** The error of a connection that the server closed. */
export function closedByServer(): Error {
  return Object.assign(new Error('the server closed the connection'), { code: 'ECONNRESET' });
}
