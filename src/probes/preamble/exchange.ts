import type { Socket } from 'node:net';
import { toError } from '@picket/lib/errors.ts';
import { HungUp, Malformed, type Preamble, type Want } from './preamble.ts';

/** Most that a peer says in a preamble; the longest of honest ones say a few hundred bytes. */
const maxBytes = 16 * 1024;

/** How a preamble is held. */
export interface PreambleControls {
  readonly socket: Socket;
  /**
   * What follows it. Before TLS nobody may say more than was asked for: somebody in between could have said that, and a
   * client that reads it later would take it for what came in TLS. Plain data stay in the socket.
   */
  readonly next: 'TLS' | 'data';
  send(data: Buffer): void;
  /** Called once: with what the preamble threw, or what befell the socket. */
  done(error: Error | null): void;
}

/** Holds a preamble with the peer of a socket, from which nothing is read that comes after it. */
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

  /** Lets the preamble go on until it waits for what has not come yet, or is over. */
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

  /** What the preamble wants, if it is there by now. */
  #granted(): Buffer | undefined {
    const want = this.#want;
    if (want?.kind === 'say') {
      // What came unasked for is read as a part of the answer: servers of IMAP tell news whenever they like.
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

/** Where the part that is wanted ends; undefined while it has not come. */
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
