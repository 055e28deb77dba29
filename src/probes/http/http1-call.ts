import type { Socket } from 'node:net';
import { errorCodeOf } from '@picket/lib/errors.ts';
import { MalformedAnswer } from './answer-head.ts';
import { AnswerParser } from './answer-parser.ts';
import type { Call, CallHooks, CallListener } from './call.ts';
import { asksForUpgrade, http1Bytes, type RequestMessage } from './request-message.ts';
import { observeSending } from './sending.ts';

/** One HTTP/1.1 request and its response on a connection of its own. */
export class Http1Call implements Call {
  readonly #socket: Socket;
  readonly #listener: CallListener;
  readonly #parser: AnswerParser;
  readonly #endObservation: () => void;
  /** The write error if the peer stopped reading the request. */
  #refusal: Error | undefined;

  constructor(socket: Socket, message: RequestMessage, { listener, sending, work }: CallHooks) {
    this.#socket = socket;
    this.#listener = listener;
    this.#parser = new AnswerParser(listener, {
      isBodyless: message.method === 'HEAD',
      isUpgradeAsked: asksForUpgrade(message.headers),
    });
    this.#endObservation = observeSending(socket, sending, (error) => {
      this.#refusal = error;
    });
    socket.on('data', (bytes: Buffer) => work(() => this.#read(() => this.#parser.feed(bytes))));
    socket.once('end', () => this.#read(() => this.#end()));
    socket.once('error', (error) => this.#read(() => listener.onFailure(error)));
    socket.once('close', () => this.#read(() => listener.onBroken('connection-reset')));
    socket.write(http1Bytes(message));
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  destroy(): void {
    this.#socket.removeAllListeners('data');
    this.#endObservation();
  }

  #end(): void {
    // A reset during the write affects the response, too: it may be incomplete. EPIPE does not: the peer had closed
    // cleanly before.
    if (this.#refusal && errorCodeOf(this.#refusal) === 'ECONNRESET') {
      this.#listener.onFailure(this.#refusal);
    } else if (!this.#parser.end()) {
      this.#listener.onBroken('connection-reset');
    }
  }

  /** Data and errors after the response do not change it. */
  #read(step: () => void): void {
    if (this.#parser.isDone) return;
    try {
      step();
    } catch (thrown) {
      if (!(thrown instanceof MalformedAnswer)) throw thrown;
      this.#listener.onBroken('response-malformed', thrown.message);
    }
  }
}
