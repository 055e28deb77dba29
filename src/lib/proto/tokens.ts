/** A syntax error in a `.proto` file, with its position. */
export class ProtoSyntaxError extends Error {
  override readonly name = 'ProtoSyntaxError';
}

const skipped = /\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\//y;
const token =
  /[A-Za-z_]\w*|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\w*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[{}[\]()<>;,.=:+\-/]/y;

/** Tokenizer of a `.proto` file. */
export class ProtoTokens {
  readonly #text: string;
  #at = 0;
  /** The next token; "" at the end. */
  #next = '';
  #nextAt = 0;

  /** @throws ProtoSyntaxError */
  constructor(text: string) {
    this.#text = text.replace(/^\uFEFF/, '');
    this.#advance();
  }

  get isAtEnd(): boolean {
    return this.#next === '';
  }

  /** Returns the next token without consuming it. */
  peek(): string {
    return this.#next;
  }

  /** @throws ProtoSyntaxError at the end of the text. */
  take(): string {
    const taken = this.#next;
    if (taken === '') throw this.problem('the file ends in the middle of a definition');
    this.#advance();
    return taken;
  }

  /** Consumes the next token if it is the wanted one. */
  takeIf(wanted: string): boolean {
    if (this.#next !== wanted) return false;
    this.#advance();
    return true;
  }

  /** @throws ProtoSyntaxError when the next token is a different one. */
  expect(wanted: string): void {
    if (!this.takeIf(wanted)) throw this.problem(`expected "${wanted}", found ${this.#shownNext()}`);
  }

  identifier(): string {
    if (!/^[A-Za-z_]/.test(this.#next)) throw this.problem(`expected a name, found ${this.#shownNext()}`);
    return this.take();
  }

  /** Reads names separated by dots; a leading dot marks a full name. */
  path(): string {
    let path = this.takeIf('.') ? '.' : '';
    path += this.identifier();
    while (this.takeIf('.')) path += `.${this.identifier()}`;
    return path;
  }

  integer(): number {
    const isNegative = this.takeIf('-');
    const written = this.#next;
    const value = /^0[0-7]+$/.test(written) ? Number.parseInt(written, 8) : Number(written);
    if (!/^\d\w*$/.test(written) || !Number.isInteger(value)) {
      throw this.problem(`expected a whole number, found ${this.#shownNext()}`);
    }
    this.#advance();
    return isNegative ? -value : value;
  }

  /** Reads a string; adjacent literals are concatenated. */
  string(): string {
    if (!/^["']/.test(this.#next)) throw this.problem(`expected a text, found ${this.#shownNext()}`);
    let value = '';
    while (/^["']/.test(this.#next)) value += this.take().slice(1, -1);
    return value;
  }

  /** Skips a statement up to `;` or the end of its brackets. */
  skipStatement(): void {
    for (let depth = 0; ; ) {
      const taken = this.take();
      if (/^[{[(<]$/.test(taken)) depth += 1;
      if (/^[}\])>]$/.test(taken)) depth -= 1;
      if (depth < 0) throw this.problem(`unexpected "${taken}"`);
      if (depth === 0 && (taken === ';' || (taken === '}' && this.#next !== ';'))) return;
    }
  }

  problem(what: string): ProtoSyntaxError {
    const line = this.#text.slice(0, this.#nextAt).split('\n').length;
    return new ProtoSyntaxError(`line ${line}: ${what}`);
  }

  #shownNext(): string {
    return this.#next === '' ? 'the end of the file' : JSON.stringify(this.#next.slice(0, 40));
  }

  #advance(): void {
    this.#nextAt = this.#at;
    skipped.lastIndex = this.#at;
    while (skipped.test(this.#text)) this.#nextAt = skipped.lastIndex;
    token.lastIndex = this.#nextAt;
    const found = token.exec(this.#text)?.[0];
    if (found === undefined && this.#nextAt < this.#text.length) {
      throw this.problem(`unexpected ${JSON.stringify(this.#text.slice(this.#nextAt, this.#nextAt + 10))}`);
    }
    this.#next = found ?? '';
    this.#at = this.#nextAt + this.#next.length;
  }
}
