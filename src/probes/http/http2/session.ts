import { type ClientHttp2Session, connect } from 'node:http2';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { maxHeadBytes } from '../answer-parser.ts';
import { FrameFilter } from './frame-filter.ts';

/** More headers than fit into a head of the largest size that anybody sends. */
const maxHeaderCount = 10_000;

/** Begins HTTP/2 on a connection, as the client. Destroying the session destroys the connection. */
export function startHttp2(socket: Socket, origin: string): ClientHttp2Session {
  return connect(origin, {
    createConnection: () => new FilteredSocket(socket),
    settings: { enablePush: false, maxHeaderListSize: maxHeadBytes },
    maxHeaderListPairs: maxHeaderCount,
  });
}

/** A socket without the frames that a client has to ignore. */
class FilteredSocket extends Duplex {
  readonly #socket: Socket;
  readonly #filter = new FrameFilter();

  constructor(socket: Socket) {
    super();
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => {
      const passed = this.#filter.passed(bytes);
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
    this.#socket.write(Buffer.concat(chunks.map(({ chunk }) => chunk)), callback);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#socket.write(chunk, callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#socket.end(() => callback());
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#socket.destroy();
    callback(error);
  }
}
