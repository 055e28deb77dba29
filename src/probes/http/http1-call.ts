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
  readonly #onData = (bytes: Buffer) => this.#work(() => this.#read(() => this.#parser.feed(bytes)));
  readonly #onEnd = () => this.#read(() => this.#end());
  readonly #onError = (error: Error) => this.#read(() => this.#listener.onFailure(error));
  readonly #onClose = () => this.#read(() => this.#listener.onBroken('connection-reset'));
  readonly #work: CallHooks['work'];
  /** The write error if the peer stopped reading the request. */
  #refusal: Error | undefined;

  constructor(socket: Socket, message: RequestMessage, { listener, sending, work }: CallHooks) {
    this.#socket = socket;
    this.#listener = listener;
    this.#work = work;
    this.#parser = new AnswerParser(listener, {
      isBodyless: message.method === 'HEAD',
      isUpgradeAsked: asksForUpgrade(message.headers),
    });
    this.#endObservation = observeSending(socket, sending, (error) => {
      this.#refusal = error;
    });
    socket.on('data', this.#onData);
    socket.once('end', this.#onEnd);
    socket.once('error', this.#onError);
    socket.once('close', this.#onClose);
    socket.write(http1Bytes(message));
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /**
   * Leaves nothing of this call at the socket: V8 keeps a closed socket of Node, and everything that it refers to, until
   * the next collection of its old objects.
   */
  destroy(): void {
    this.#socket.off('data', this.#onData);
    this.#socket.off('end', this.#onEnd);
    this.#socket.off('error', this.#onError);
    this.#socket.off('close', this.#onClose);
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
