import type { ResponseHead } from '../http/answer-head.ts';
import { AnswerParser } from '../http/answer-parser.ts';

/** Limit for the body of a refusal. */
const maxBodyBytes = 16 * 1024;

/** Parses the response to a handshake from the pieces that a connection delivers. */
export class HandshakeAnswer {
  head: ResponseHead | undefined;
  readonly #body: Buffer[] = [];
  #bodyBytes = 0;
  readonly #parser = new AnswerParser(
    {
      onStart: () => undefined,
      onHead: (head) => {
        this.head = head;
      },
      onBody: (bytes) => {
        this.#body.push(Buffer.from(bytes.subarray(0, maxBodyBytes - this.#bodyBytes)));
        this.#bodyBytes += bytes.length;
      },
      onEnd: () => undefined,
    },
    { isBodyless: false, isUpgradeAsked: true },
  );

  /** True if there is no more to read: the response is complete, or the body of a refusal has reached its limit. */
  get isDone(): boolean {
    return this.#parser.isDone || this.#bodyBytes >= maxBodyBytes;
  }

  /** The body of a refusal. */
  get body(): Buffer {
    return Buffer.concat(this.#body);
  }

  /** @returns how many of the bytes belong to the response. @throws MalformedAnswer */
  feed(bytes: Buffer): number {
    return this.#parser.feed(bytes);
  }

  /** The connection has ended. @returns whether the response, or a refusal, is readable. @throws MalformedAnswer */
  end(): boolean {
    return this.#parser.end() || this.head !== undefined;
  }
}
