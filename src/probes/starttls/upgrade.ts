import type { Socket } from 'node:net';
import { toError } from '../../lib/errors.ts';
import { ProbeError } from '../connection/errors.ts';
import type { Upgrade } from '../connection/target.ts';
import { type Dialogue, Malformed, Refusal, type Wish } from './dialogue.ts';
import { imap, pop3, smtp } from './mail.ts';
import { ldap, mysql, postgres } from './stores.ts';
import { xmpp } from './xmpp.ts';

const dialogues: Readonly<Record<StartTlsProtocol, (hostname: string) => Dialogue>> = {
  smtp,
  imap,
  pop3,
  ldap,
  postgres,
  mysql,
  xmpp,
};

/** The protocols in which a server can be asked for TLS. */
export type StartTlsProtocol = 'smtp' | 'imap' | 'pop3' | 'ldap' | 'postgres' | 'mysql' | 'xmpp';

/** Most that a server says before TLS; the longest of honest ones say a few hundred bytes. */
const maxBytes = 16 * 1024;

/**
 * Asks a server for TLS in its protocol.
 *
 * A server that says anything after its consent and before TLS is refused: somebody in between could have said
 * that, and a client that reads it later would take it for what came in TLS.
 */
export function startTls(protocol: StartTlsProtocol, hostname: string): Upgrade {
  return (socket, exchange) => {
    const talk = new Talk(socket, dialogues[protocol](hostname), {
      send: exchange.send,
      done: (thrown) => exchange.done(thrown === null ? null : asProbeError(thrown, protocol)),
    });
    talk.begin();
  };
}

function asProbeError(thrown: Error, protocol: StartTlsProtocol): Error {
  const name =
    protocol === 'postgres' ? 'PostgreSQL' : protocol === 'mysql' ? 'MySQL' : protocol.toUpperCase();
  if (thrown instanceof Refusal) {
    return new ProbeError('upgrade-refused', 'starttls', `STARTTLS of ${name}: ${thrown.message}`);
  }
  if (thrown instanceof Malformed) {
    return new ProbeError('response-malformed', 'starttls', `STARTTLS of ${name}: ${thrown.message}`);
  }
  return thrown;
}

/** Feeds a dialogue from a socket, as `readable` as openTunnel does: nothing is read that belongs to TLS. */
class Talk {
  readonly #socket: Socket;
  readonly #dialogue: Dialogue;
  readonly #exchange: { send(data: Buffer): void; done(error: Error | null): void };
  #received: Buffer = Buffer.alloc(0);
  #totalBytes = 0;
  #wish: Wish | undefined;
  readonly #onReadable = () => this.#read();
  readonly #onEnd = () => this.#finish(new Refusal('the server closed the connection'));
  readonly #onError = (error: Error) => this.#finish(error);

  constructor(
    socket: Socket,
    dialogue: Dialogue,
    exchange: { send(data: Buffer): void; done(error: Error | null): void },
  ) {
    this.#socket = socket;
    this.#dialogue = dialogue;
    this.#exchange = exchange;
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
    if (this.#totalBytes > maxBytes) {
      this.#finish(new Malformed(`the server said more than ${maxBytes} bytes before TLS`));
      return;
    }
    const given = this.#granted();
    if (given) this.#go(given);
  }

  /** Lets the dialogue go on until it waits for what has not come yet, or is over. */
  #go(given: Buffer): void {
    try {
      for (let next: Buffer | undefined = given; next; next = this.#granted()) {
        const { done, value } = this.#dialogue.next(next);
        if (done) {
          this.#refuseSurplus();
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
      this.#refuseSurplus();
      this.#exchange.send(wish.data);
      return Buffer.alloc(0);
    }
    const end = wish && endOf(wish, this.#received);
    if (!wish || end === undefined) return undefined;
    const part = this.#received.subarray(0, end);
    this.#received = this.#received.subarray(end);
    return wish.kind === 'line' ? withoutLineEnd(part) : part;
  }

  #refuseSurplus(): void {
    const surplusBytes = this.#received.length + this.#socket.readableLength;
    if (surplusBytes === 0) return;
    throw new Malformed(
      `somebody said ${surplusBytes} bytes in plain text that were not asked for, before TLS`,
    );
  }

  #finish(error: Error | null): void {
    this.#wish = undefined;
    this.#socket.off('readable', this.#onReadable);
    this.#socket.off('end', this.#onEnd);
    this.#socket.off('error', this.#onError);
    this.#exchange.done(error);
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
