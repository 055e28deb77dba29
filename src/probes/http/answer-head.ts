/** Names are in lower case; values of repeated headers stay separate. */
export type ResponseHeaders = Readonly<Record<string, string | readonly string[]>>;

export interface ResponseHead {
  readonly status: number;
  readonly statusText: string;
  readonly headers: ResponseHeaders;
  readonly httpVersion: '1.0' | '1.1' | '2';
}

/** Framing of the body of an HTTP/1 response. */
export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly sizeBytes: number }
  | { readonly kind: 'chunks' }
  | { readonly kind: 'until-close' };

/** The data is not HTTP. */
export class MalformedAnswer extends Error {
  override readonly name = 'MalformedAnswer';
}

/** Some servers claim HTTP/2 here, but HTTP/1 follows. */
const statusLine = /^HTTP\/(1\.[01]|2(?:\.0)?)[ \t]+(\d{3})(?:[ \t](.*))?$/;
/** Characters that no header may contain; other control characters are left to the reader. */
const forbidden = /[\0\r]/;

/**
 * Parses the head of an HTTP/1 response line by line, as leniently as curl: lines may end in a bare line feed, values
 * may continue on the next line, a name may be followed by blanks.
 */
export class HeadReader {
  #version: '1.0' | '1.1' = '1.1';
  #status = 0;
  #statusText = '';
  readonly #headers = new Map<string, string | string[]>();
  #lastName: string | undefined;

  /** True if the status line has been read. */
  get hasBegun(): boolean {
    return this.#status !== 0;
  }

  /**
   * @returns true if this line ended the head.
   * @throws MalformedAnswer
   */
  add(line: string): boolean {
    if (!this.hasBegun) {
      // Some servers end a body with an extra empty line.
      if (line !== '') this.#begin(line);
      return false;
    }
    if (line === '') return true;
    if (forbidden.test(line)) throw new MalformedAnswer(`a header with a control character: ${shown(line)}`);
    if (line.startsWith(' ') || line.startsWith('\t')) this.#continue(line);
    else this.#header(line);
    return false;
  }

  head(): ResponseHead {
    return {
      status: this.#status,
      statusText: this.#statusText,
      headers: Object.fromEntries(this.#headers),
      httpVersion: this.#version,
    };
  }

  /**
   * Determines the framing of the body from the headers (RFC 9112 section 6.3).
   *
   * @throws MalformedAnswer
   */
  framing(): Framing {
    // "identity" has no effect.
    const codings = this.#list('transfer-encoding')
      .map((coding) => coding.toLowerCase())
      .filter((coding) => coding !== 'identity');
    if (codings.length > 0) return { kind: codings.at(-1) === 'chunked' ? 'chunks' : 'until-close' };
    if (!this.#headers.has('content-length')) return { kind: 'until-close' };
    const [length = '', ...others] = this.#list('content-length');
    if (!/^\d+$/.test(length))
      throw new MalformedAnswer(`the Content-Length ${shown(length)} is not a number`);
    if (others.some((other) => !/^\d+$/.test(other) || Number(other) !== Number(length))) {
      throw new MalformedAnswer(
        `conflicting values of Content-Length: ${shown([length, ...others].join(', '))}`,
      );
    }
    return { kind: 'length', sizeBytes: Number(length) };
  }

  #begin(line: string): void {
    const [, version, status, text = ''] = statusLine.exec(line) ?? [];
    if (version === undefined || status === undefined || Number(status) < 100) {
      throw new MalformedAnswer(`the response begins with ${shown(line)}, which is not HTTP`);
    }
    this.#version = version === '1.0' ? '1.0' : '1.1';
    this.#status = Number(status);
    this.#statusText = text.trim();
  }

  #header(line: string): void {
    const colon = line.indexOf(':');
    const written = colon < 0 ? '' : line.slice(0, colon);
    const name = written.trimEnd().toLowerCase();
    if (name === '')
      throw new MalformedAnswer(`a header without ${colon < 0 ? 'a colon' : 'a name'}: ${shown(line)}`);
    if (written.trimEnd() !== written && isFraming(name)) {
      throw new MalformedAnswer(
        `a space before the colon: ${shown(line)}; other clients may read a different body`,
      );
    }
    const value = trimBlanks(line.slice(colon + 1));
    const known = this.#headers.get(name);
    if (known === undefined) this.#headers.set(name, value);
    else if (typeof known === 'string') this.#headers.set(name, [known, value]);
    else known.push(value);
    this.#lastName = name;
  }

  /** The line continues the previous header (RFC 9112 section 5.2). */
  #continue(line: string): void {
    const name = this.#lastName;
    const known = name === undefined ? undefined : this.#headers.get(name);
    if (name === undefined || known === undefined) {
      throw new MalformedAnswer(`a header continuation without a header: ${shown(line)}`);
    }
    const added = trimBlanks(line);
    const join = (value: string) => (value === '' ? added : `${value} ${added}`);
    if (typeof known === 'string') this.#headers.set(name, join(known));
    else known.push(join(known.pop() ?? ''));
  }

  #list(name: string): string[] {
    const value = this.#headers.get(name) ?? [];
    const lines = typeof value === 'string' ? [value] : value;
    return lines.flatMap((line) => line.split(',')).map(trimBlanks);
  }
}

function isFraming(name: string): boolean {
  return name === 'transfer-encoding' || name === 'content-length';
}

function trimBlanks(text: string): string {
  return text.replace(/^[ \t]+|[ \t]+$/g, '');
}

function shown(line: string): string {
  return JSON.stringify(line.length > 80 ? `${line.slice(0, 80)}…` : line);
}
