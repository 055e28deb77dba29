import { Transform, type TransformCallback } from 'node:stream';

/**
 * DNS queries of a run: parses the names they contain, and builds the response for forbidden names. Only the required
 * fields are parsed (RFC 1035 section 4.1), so the rest of a message does not matter.
 */

const headerBytes = 12;
const countOffset = 4;
const maxLabelBytes = 63;
const nxdomain = 3;

/** Parses the questions of a message; undefined unless it is a query of an ordinary form. */
export function readQuestions(
  message: Buffer,
): { readonly names: readonly string[]; readonly endsAt: number } | undefined {
  if (message.length < headerBytes) return undefined;
  const names: string[] = [];
  let at = headerBytes;
  for (let count = message.readUInt16BE(countOffset); count > 0; count -= 1) {
    const labels: string[] = [];
    for (;;) {
      const lengthBytes = message[at];
      if (lengthBytes === undefined || lengthBytes > maxLabelBytes) return undefined;
      at += 1 + lengthBytes;
      if (lengthBytes === 0) break;
      labels.push(message.toString('latin1', at - lengthBytes, at));
    }
    at += 4; // type and class
    if (at > message.length) return undefined;
    names.push(labels.join('.'));
  }
  return names.length > 0 ? { names, endsAt: at } : undefined;
}

/** Builds an NXDOMAIN response: programs accept it immediately and as final, also while they try search domains. */
export function noSuchName(message: Buffer, endsAt: number): Buffer {
  const answer = Buffer.from(message.subarray(0, endsAt));
  const flags = message.readUInt16BE(2);
  answer.writeUInt16BE(0x8080 | (flags & 0x7900) | nxdomain, 2);
  answer.fill(0, 6, headerBytes); // no records
  return answer;
}

/** Passes queries on a connection to a name server, as long as all names in them are allowed. */
export class QuestionFilter extends Transform {
  readonly #isRefused: (message: Buffer) => boolean;
  #held = Buffer.alloc(0);

  constructor(isRefused: (message: Buffer) => boolean) {
    super();
    this.#isRefused = isRefused;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#held = Buffer.concat([this.#held, chunk]);
    // A length prefix precedes each message (RFC 1035 section 4.2.2).
    while (this.#held.length >= 2) {
      const endsAt = 2 + this.#held.readUInt16BE(0);
      if (this.#held.length < endsAt) break;
      if (this.#isRefused(this.#held.subarray(2, endsAt))) {
        done(new Error('a blocked name'));
        return;
      }
      this.push(this.#held.subarray(0, endsAt));
      this.#held = this.#held.subarray(endsAt);
    }
    done();
  }
}
