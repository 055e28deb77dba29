import type { Socket } from 'node:net';
import { toError } from '../../lib/errors.ts';
import { type Dialogue, HungUp, Malformed, type Wish } from './dialogue.ts';

/** Most that a peer says in a dialogue; the longest of honest ones say a few hundred bytes. */
const maxBytes = 16 * 1024;

/** How a dialogue is held. */
export interface DialogueControls {
  readonly socket: Socket;
  /**
   * What follows it. Before TLS nobody may say more than was asked for: somebody in between could have said that, and a
   * client that reads it later would take it for what came in TLS. Plain data stay in the socket.
   */
  readonly next: 'TLS' | 'data';
  send(data: Buffer): void;
  /** Called once: with what the dialogue threw, or what befell the socket. */
  done(error: Error | null): void;
}

/** Holds a dialogue with the peer of a socket, from which nothing is read that comes after it. */
export function holdDialogue(dialogue: Dialogue, controls: DialogueControls): void {
  new Talk(dialogue, controls).begin();
}

/** Feeds a dialogue from a socket. */
class Talk {
  readonly #dialogue: Dialogue;
  readonly #controls: DialogueControls;
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #totalBytes = 0;
  #wish: Wish | undefined;
  readonly #onReadable = () => this.#read();
  readonly #onEnd = () => this.#finish(new HungUp('the connection was closed'));
  readonly #onError = (error: Error) => this.#finish(error);

  constructor(dialogue: Dialogue, controls: DialogueControls) {
    this.#dialogue = dialogue;
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
    if (this.#wish && this.#totalBytes > maxBytes) {
      this.#finish(
        new Malformed(`the server said more than ${maxBytes} bytes before ${this.#controls.next}`),
      );
    }
  }

  /** Lets the dialogue go on until it waits for what has not come yet, or is over. */
  #go(given: Buffer): void {
    try {
      for (let next: Buffer | undefined = given; next; next = this.#granted()) {
        const { done, value } = this.#dialogue.next(next);
        if (done) {
          this.#leaveSurplus();
          this.#finish(null);
          return;
        }
        this.#wish = value;
      }
    } catch (thrown) {
      this.#finish(toError(thrown));
    }
  }

  /** What the dialogue wishes for, if it is there by now. */
  #granted(): Buffer | undefined {
    const wish = this.#wish;
    if (wish?.kind === 'say') {
      // What came unasked for is read as a part of the answer: servers of IMAP tell news whenever they like.
      this.#controls.send(wish.data);
      return Buffer.alloc(0);
    }
    const end = wish && endOf(wish, this.#received);
    if (!wish || end === undefined) return undefined;
    const part = this.#received.subarray(0, end);
    this.#received = this.#received.subarray(end);
    return wish.kind === 'line' ? withoutLineEnd(part) : part;
  }

  #leaveSurplus(): void {
    if (this.#controls.next === 'TLS') this.#refuseSurplus();
    else if (this.#received.length > 0) this.#socket.unshift(this.#received);
  }

  #refuseSurplus(): void {
    const surplusBytes = this.#received.length + this.#socket.readableLength;
    if (surplusBytes === 0) return;
    throw new Malformed(
      `somebody said ${surplusBytes} bytes in plain text that were not asked for, before ${this.#controls.next}`,
    );
  }

  #finish(error: Error | null): void {
    this.#wish = undefined;
    this.#socket.off('readable', this.#onReadable);
    this.#socket.off('end', this.#onEnd);
    this.#socket.off('error', this.#onError);
    this.#controls.done(error);
  }
}

/** Where the part that is wished for ends; undefined while it has not come. */
function endOf(wish: Exclude<Wish, { kind: 'say' }>, received: Buffer): number | undefined {
  if (wish.kind === 'bytes') return received.length >= wish.count ? wish.count : undefined;
  const marks = wish.kind === 'line' ? ['\n'] : wish.marks;
  const ends = marks.flatMap((mark) => {
    const start = received.indexOf(mark);
    return start < 0 ? [] : [start + mark.length];
  });
  return ends.length === 0 ? undefined : Math.min(...ends);
}

function withoutLineEnd(line: Buffer): Buffer {
  return line.subarray(0, line.at(-2) === 0x0d ? -2 : -1);
}
