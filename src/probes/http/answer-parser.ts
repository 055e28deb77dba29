import { HeadReader, MalformedAnswer, type ResponseHead } from './answer-head.ts';

/** Limit for all heads of a response, including informational ones and trailers; the same as curl's. */
export const maxHeadBytes = 300 * 1024;
/** Limit for the bytes between the size of a chunk and the end of its line. */
const maxExtensionBytes = 16 * 1024;
/** The same limit as curl's. */
const maxSizeDigits = 16;

/** Up to this many bytes are moved one by one. */
const fewBytes = 32;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Receives the events of a response as it is parsed. */
export interface AnswerListener {
  /** A response begins within the bytes being fed. Called again for the response after an informational one. */
  onStart(): void;
  onHead(head: ResponseHead): void;
  /** At most once for each piece that was fed. */
  onBody(bytes: Buffer): void;
  onEnd(): void;
}

type State =
  | 'head'
  | 'length'
  | 'until-close'
  | 'chunk-size'
  | 'chunk-extension'
  | 'chunk'
  | 'chunk-end'
  | 'trailers'
  | 'done';

/**
 * Parses one HTTP/1 response (RFC 9112) from the pieces that a connection delivers, as leniently as curl. It buffers at
 * most one line of a head. Chunks are joined within the piece they arrived in, so that tiny chunks cost no more than
 * their bytes.
 */
export class AnswerParser {
  readonly #listener: AnswerListener;
  readonly #isBodyless: boolean;
  readonly #isUpgradeAsked: boolean;
  #state: State = 'head';
  #head = new HeadReader();
  #line = '';
  #hasBegun = false;
  #headBytes = 0;
  /** Bytes left in the body or the chunk. */
  #remainingBytes = 0;
  #sizeDigits = 0;
  #extensionBytes = 0;

  /**
   * @param options.isBodyless true if the response to this request never has a body (HEAD).
   * @param options.isUpgradeAsked true if the request asks for a protocol upgrade.
   */
  constructor(
    listener: AnswerListener,
    options: { readonly isBodyless: boolean; readonly isUpgradeAsked: boolean },
  ) {
    this.#listener = listener;
    this.#isBodyless = options.isBodyless;
    this.#isUpgradeAsked = options.isUpgradeAsked;
  }

  get isDone(): boolean {
    return this.#state === 'done';
  }

  /**
   * Parses the next bytes; the parser owns them from then on.
   *
   * @returns how many of them belong to the response; the rest is ignored.
   * @throws MalformedAnswer
   */
  feed(bytes: Buffer): number {
    let position = 0;
    /** Start and end of the body bytes found in this piece so far. */
    let bodyStart = 0;
    let bodyEnd = 0;
    const take = (sizeBytes: number) => {
      if (bodyEnd === bodyStart) bodyStart = bodyEnd = position;
      else if (bodyEnd !== position) moveBytes(bytes, position, { to: bodyEnd, sizeBytes });
      bodyEnd += sizeBytes;
      position += sizeBytes;
    };
    while (position < bytes.length && this.#state !== 'done') {
      const state = this.#state;
      if (state === 'head' || state === 'trailers') {
        position = this.#readLine(bytes, position);
      } else if (state === 'until-close') {
        take(bytes.length - position);
      } else if (state === 'length' || state === 'chunk') {
        const sizeBytes = Math.min(this.#remainingBytes, bytes.length - position);
        take(sizeBytes);
        this.#remainingBytes -= sizeBytes;
        if (this.#remainingBytes === 0) this.#state = state === 'chunk' ? 'chunk-end' : 'done';
      } else {
        position = this.#readChunkFrame(bytes, position);
      }
    }
    if (bodyEnd > bodyStart) this.#listener.onBody(bytes.subarray(bodyStart, bodyEnd));
    if (this.#state === 'done') this.#listener.onEnd();
    return position;
  }

  /**
   * The connection was closed cleanly.
   *
   * @returns whether the response is then complete.
   * @throws MalformedAnswer if the data received so far is not the start of HTTP.
   */
  end(): boolean {
    if (this.#state === 'until-close') {
      this.#state = 'done';
      this.#listener.onEnd();
    }
    if (this.#state === 'head' && !this.#head.hasBegun) requireHttp(this.#line);
    return this.#state === 'done';
  }

  /** Continues reading a line; processes it once it is complete. */
  #readLine(bytes: Buffer, start: number): number {
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      this.#listener.onStart();
    }
    const found = bytes.indexOf(lineFeed, start);
    const end = found < 0 ? bytes.length : found;
    const isFirstLine = this.#line.length < httpName.length;
    this.#headBytes += end - start + 1;
    if (this.#headBytes > maxHeadBytes)
      throw new MalformedAnswer(`headers of more than ${maxHeadBytes / 1024} KB`);
    this.#line += bytes.toString('latin1', start, end);
    if (found < 0) {
      if (isFirstLine && this.#state === 'head' && !this.#head.hasBegun) requireHttp(this.#line);
      return end;
    }
    const line = this.#line.endsWith('\r') ? this.#line.slice(0, -1) : this.#line;
    this.#line = '';
    if (this.#state === 'trailers') {
      if (line === '') this.#state = 'done';
    } else if (this.#head.add(line)) {
      this.#parseHead();
    }
    return end + 1;
  }

  #parseHead(): void {
    const head = this.#head.head();
    const { status } = head;
    if (status === 101 && !this.#isUpgradeAsked) {
      throw new MalformedAnswer('the server switched to another protocol (101) without a request to do so');
    }
    if (status < 200 && status !== 101) {
      this.#head = new HeadReader();
      this.#hasBegun = false;
      return;
    }
    const isBodyless = this.#isBodyless || status === 101 || status === 204 || status === 304;
    const framing = isBodyless ? ({ kind: 'none' } as const) : this.#head.framing();
    if (framing.kind === 'chunks') {
      this.#beginChunk();
    } else if (framing.kind === 'until-close') {
      this.#state = 'until-close';
    } else {
      this.#remainingBytes = framing.kind === 'length' ? framing.sizeBytes : 0;
      this.#state = this.#remainingBytes === 0 ? 'done' : 'length';
    }
    this.#listener.onHead(head);
  }

  #beginChunk(): void {
    this.#state = 'chunk-size';
    this.#remainingBytes = 0;
    this.#sizeDigits = 0;
    this.#extensionBytes = 0;
  }

  /** Continues reading the framing between chunks. */
  #readChunkFrame(bytes: Buffer, start: number): number {
    if (this.#state === 'chunk-size') return this.#readSize(bytes, start);
    if (this.#state === 'chunk-extension') {
      const found = bytes.indexOf(lineFeed, start);
      const end = found < 0 ? bytes.length : found;
      this.#extensionBytes += end - start;
      if (this.#extensionBytes > maxExtensionBytes) {
        throw new MalformedAnswer(`a chunk extension of more than ${maxExtensionBytes / 1024} KB`);
      }
      if (found < 0) return end;
      this.#state = this.#remainingBytes === 0 ? 'trailers' : 'chunk';
      return end + 1;
    }
    const byte = bytes[start];
    if (byte === lineFeed) this.#beginChunk();
    else if (byte !== carriageReturn)
      throw new MalformedAnswer('a chunk that is longer than its declared size');
    return start + 1;
  }

  #readSize(bytes: Buffer, start: number): number {
    let position = start;
    while (position < bytes.length) {
      const byte = bytes[position] ?? 0;
      const digit = hexDigit(byte);
      if (digit < 0) {
        if (this.#sizeDigits === 0 || !isSizeEnd(byte))
          throw new MalformedAnswer('a chunk whose size is not a number');
        if (byte !== carriageReturn || bytes[position + 1] !== lineFeed) {
          this.#state = 'chunk-extension';
          return position;
        }
        this.#state = this.#remainingBytes === 0 ? 'trailers' : 'chunk';
        return position + 2;
      }
      this.#sizeDigits += 1;
      this.#remainingBytes = this.#remainingBytes * 16 + digit;
      if (this.#sizeDigits > maxSizeDigits || this.#remainingBytes > Number.MAX_SAFE_INTEGER) {
        throw new MalformedAnswer('a chunk of invalid size');
      }
      position += 1;
    }
    return position;
  }
}

const httpName = 'HTTP/';

/** @throws MalformedAnswer if a line, or its part received so far, is not a status line. */
function requireHttp(line: string): void {
  if (line.startsWith(httpName) || httpName.startsWith(line)) return;
  throw new MalformedAnswer(
    `the response begins with ${JSON.stringify(line.slice(0, 40))}, which is not HTTP`,
  );
}

/** Moves bytes forward within their buffer; short ranges without a call into Node. */
function moveBytes(
  bytes: Buffer,
  from: number,
  move: { readonly to: number; readonly sizeBytes: number },
): void {
  const { to, sizeBytes } = move;
  if (sizeBytes > fewBytes) {
    bytes.copyWithin(to, from, from + sizeBytes);
    return;
  }
  for (let index = 0; index < sizeBytes; index += 1) bytes[to + index] = bytes[from + index] ?? 0;
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** A space, a tab, a semicolon or the end of the line. */
function isSizeEnd(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x3b || byte === carriageReturn || byte === lineFeed;
}
