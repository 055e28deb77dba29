import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';

/** A response with its whole body. */
export interface WholeAnswer {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

const decoder = new TextDecoder();

/**
 * One request and its response, read whole. It does without undici's `request`, whose handlers V8 keeps, with the body
 * of the request, until it collects old objects; and it needs no stream and no signal.
 */
export class WholeExchange implements Dispatcher.DispatchHandler {
  readonly #answer = Promise.withResolvers<WholeAnswer>();
  #controller: Dispatcher.DispatchController | undefined;
  #stopReason: Error | undefined;
  #head: Omit<WholeAnswer, 'text'> | undefined;
  readonly #chunks: Buffer[] = [];

  /** Rejects with the error of the connection, or the reason of `stop`. */
  get answer(): Promise<WholeAnswer> {
    return this.#answer.promise;
  }

  /** Ends the exchange, at the latest when its request would be sent. */
  stop(reason: Error): void {
    if (this.#stopReason) return;
    this.#stopReason = reason;
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#stopReason) controller.abort(this.#stopReason);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
  ): void {
    // Responses below 200 precede the real one.
    if (statusCode >= 200) this.#head = { statusCode, headers };
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [first = Buffer.alloc(0), second] = this.#chunks;
    const bytes = second ? Buffer.concat(this.#chunks) : first;
    if (this.#head) this.#answer.resolve({ ...this.#head, text: decoder.decode(bytes) });
    else this.#answer.reject(new Error('the response ended before it began'));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#answer.reject(error);
  }
}
