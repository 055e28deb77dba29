import type { Socket } from 'node:net';
import { toError } from '@picket/lib/errors.ts';
import { HungUp, Malformed, type Preamble, type Want } from './preamble.ts';

/** Limit for the data of a preamble; real servers send a few hundred bytes. */
const maxBytes = 16 * 1024;

/** Parameters of a preamble. */
export interface PreambleControls {
  readonly socket: Socket;
  /**
   * The protocol after the preamble. Before TLS, surplus data is refused: a man in the middle could have injected it,
   * and a client that reads it later would take it for data received over TLS. Plain data stays in the socket.
   */
  readonly next: 'TLS' | 'data';
  send(data: Buffer): void;
  /** Called once, with the error of the preamble or of the socket, if any. */
  done(error: Error | null): void;
}

/** Runs a preamble with the peer of a socket; data after it is not read. */
export function holdPreamble(preamble: Preamble, controls: PreambleControls): void {
  new Exchange(preamble, controls).begin();
}

/** Feeds a preamble from a socket. */
class Exchange {
  readonly #preamble: Preamble;
  readonly #controls: PreambleControls;
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #totalBytes = 0;
  #want: Want | undefined;
  readonly #onReadable = () => this.#read();
  readonly #onEnd = () => this.#finish(new HungUp('the connection was closed'));
  readonly #onError = (error: Error) => this.#finish(error);

  constructor(preamble: Preamble, controls: PreambleControls) {
    this.#preamble = preamble;
    this.#controls = controls;
    this.#socket = controls.socket;
  }

  begin(): void {
    this.#socket.on('readable', this.#onReadable);
    this.#socket.on('end', this.#onEnd);
    this.#socket.on('error', this.#onError);
    this.#go(Buffer.alloc(0));
  }

  #read(): void {
    const chunk: Buffer | null = this.#socket.read();
    if (chunk === null) return;
    this.#totalBytes += chunk.length;
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const given = this.#granted();
    if (given) this.#go(given);
    if (this.#want && this.#totalBytes > maxBytes) {
      this.#finish(
        new Malformed(`the server sent more than ${maxBytes} bytes before ${this.#controls.next}`),
      );
    }
  }

  /** Runs the preamble until it waits for missing data or is over. */
  #go(given: Buffer): void {
    try {
      for (let next: Buffer | undefined = given; next; next = this.#granted()) {
        const { done, value } = this.#preamble.next(next);
        if (done) {
          this.#leaveSurplus();
          this.#finish(null);
          return;
        }
        this.#want = value;
      }
    } catch (thrown) {
      this.#finish(toError(thrown));
    }
  }

  /** Returns the data that the preamble wants; undefined while it is incomplete. */
  #granted(): Buffer | undefined {
    const want = this.#want;
    if (want?.kind === 'say') {
      // Unsolicited data is read as part of the response: IMAP servers send notifications at any time.
      this.#controls.send(want.data);
      return Buffer.alloc(0);
    }
    const end = want && endOf(want, this.#received);
    if (!want || end === undefined) return undefined;
    const part = this.#received.subarray(0, end);
    this.#received = this.#received.subarray(end);
    return want.kind === 'line' ? withoutLineEnd(part) : part;
  }

  #leaveSurplus(): void {
    if (this.#controls.next === 'TLS') this.#refuseSurplus();
    else if (this.#received.length > 0) this.#socket.unshift(this.#received);
  }

  #refuseSurplus(): void {
    const surplusBytes = this.#received.length + this.#socket.readableLength;
    if (surplusBytes === 0) return;
    throw new Malformed(
      `the server or an attacker sent ${surplusBytes} unrequested bytes in plain text before ${this.#controls.next}`,
    );
  }

  #finish(error: Error | null): void {
    this.#want = undefined;
    this.#socket.off('readable', this.#onReadable);
    this.#socket.off('end', this.#onEnd);
    this.#socket.off('error', this.#onError);
    this.#controls.done(error);
  }
}

/** Returns the end of the wanted part; undefined while it is incomplete. */
function endOf(want: Exclude<Want, { kind: 'say' }>, received: Buffer): number | undefined {
  if (want.kind === 'bytes') return received.length >= want.count ? want.count : undefined;
  const marks = want.kind === 'line' ? ['\n'] : want.marks;
  const ends = marks.flatMap((mark) => {
    const start = received.indexOf(mark);
    return start < 0 ? [] : [start + mark.length];
  });
  return ends.length === 0 ? undefined : Math.min(...ends);
}

function withoutLineEnd(line: Buffer): Buffer {
  return line.subarray(0, line.at(-2) === 0x0d ? -2 : -1);
}
