import { type ClientHttp2Session, connect } from 'node:http2';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { maxHeadBytes } from '../answer-parser.ts';
import { FrameFilter } from './frame-filter.ts';

/** More headers than fit into a head of the maximum size. */
const maxHeaderCount = 10_000;

/** Data just read, before it is processed. */
export interface ReceivedFrames {
  readonly sizeBytes: number;
  /** Offset of the head of a response in the data; undefined if absent. */
  readonly headOffset: number | undefined;
  /** True if the bytes are those of the TCP connection, without TLS. */
  readonly isPlain: boolean;
}

/** Observes the traffic of a connection, synchronously. */
export interface Http2Wire {
  /** @param isRequest whether the data written from `beforeMs` until now contains any part of a request. */
  onSent(beforeMs: number, isRequest: boolean): void;
  onReceived(frames: ReceivedFrames): void;
}

/** Begins HTTP/2 on a connection, as the client. Destroying the session destroys the connection. */
export function startHttp2(socket: Socket, origin: string, wire: Http2Wire): ClientHttp2Session {
  return connect(origin, {
    createConnection: () => new FilteredSocket(socket, wire),
    settings: { enablePush: false, maxHeaderListSize: maxHeadBytes },
    maxHeaderListPairs: maxHeaderCount,
  });
}

/** A socket that hides the frames a client must ignore. */
class FilteredSocket extends Duplex {
  readonly #socket: Socket;
  readonly #wire: Http2Wire;
  readonly #filter = new FrameFilter();
  #isBegun = false;

  constructor(socket: Socket, wire: Http2Wire) {
    super();
    this.#socket = socket;
    this.#wire = wire;
    const isPlain = !(socket instanceof TLSSocket);
    socket.on('data', (bytes: Buffer) => {
      const passed = this.#filter.passed(bytes);
      wire.onReceived({ sizeBytes: bytes.length, headOffset: this.#filter.headOffset, isPlain });
      if (passed.length > 0 && !this.push(passed)) socket.pause();
    });
    socket.once('end', () => {
      const rest = this.#filter.rest();
      if (rest.length > 0) this.push(rest);
      this.push(null);
    });
    socket.once('error', (error) => this.destroy(error));
    socket.once('close', () => this.destroy());
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _writev(
    chunks: readonly { readonly chunk: Buffer }[],
    callback: (error?: Error | null) => void,
  ): void {
    this.#send(Buffer.concat(chunks.map(({ chunk }) => chunk)), callback);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#send(chunk, callback);
  }

  #send(bytes: Buffer, callback: (error?: Error | null) => void): void {
    const isRequest = hasRequest(bytes, this.#isBegun ? 0 : prefaceBytes);
    this.#isBegun = true;
    const beforeMs = performance.now();
    this.#socket.write(bytes, callback);
    this.#wire.onSent(beforeMs, isRequest);
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#socket.end(() => callback());
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#socket.destroy();
    callback(error);
  }
}

/** RFC 9113 section 3.4. */
const prefaceBytes = 24;
const frameHeadBytes = 9;
/** DATA and HEADERS. */
const requestTypes: ReadonlySet<number | undefined> = new Set([0, 1]);

/** Returns whether the frames that Node writes include one of a request; Node writes whole frames. */
function hasRequest(bytes: Buffer, start: number): boolean {
  for (let at = start; at + frameHeadBytes <= bytes.length; at += frameHeadBytes + bytes.readUIntBE(at, 3)) {
    if (requestTypes.has(bytes[at + 3])) return true;
  }
  return false;
}
