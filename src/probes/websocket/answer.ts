import type { ResponseHead } from '../http/answer-head.ts';
import { AnswerParser } from '../http/answer-parser.ts';

/** Most of a refusal that is read. */
const maxBodyBytes = 16 * 1024;

/** The answer to a handshake, read from the pieces that a connection brings. */
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

  /** Whether there is no more to read: all of it has come, or as much of a refusal as is kept. */
  get isDone(): boolean {
    return this.#parser.isDone || this.#bodyBytes >= maxBodyBytes;
  }

  /** What a server said that did not switch. */
  get body(): Buffer {
    return Buffer.concat(this.#body);
  }

  /** @returns how many of the bytes belong to the answer. @throws MalformedAnswer */
  feed(bytes: Buffer): number {
    return this.#parser.feed(bytes);
  }

  /** The connection has ended. @returns whether the answer is whole, or as much of a refusal as there will be. @throws MalformedAnswer */
  end(): boolean {
    return this.#parser.end() || this.head !== undefined;
  }
}
