/** Words of a command line, or the reason why it cannot be parsed. */
export type ShellWords =
  | { readonly words: readonly string[]; readonly problem?: never }
  | { readonly words?: never; readonly problem: string };

const ansiLetters: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\u0007',
  b: '\b',
  e: '\u001b',
  E: '\u001b',
  f: '\f',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '?': '?',
};

/** Characters with a meaning to the shell beyond separating words. */
const operators = new Set([';', '|', '&', '<', '>', '(', ')']);

/**
 * Splits one simple command into words like a POSIX shell, with bash's `$'…'`, which browsers write. Expansions are
 * refused, because their values are unknown here.
 */
export function shellWords(text: string): ShellWords {
  const reader = new Reader(text.replaceAll('\r\n', '\n'));
  return reader.read();
}

class Reader {
  readonly #text: string;
  #at = 0;
  readonly #words: string[] = [];
  /** The current word; undefined between two words. Quotes alone make an empty one. */
  #word: string | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  read(): ShellWords {
    while (this.#at < this.#text.length) {
      const problem = this.#step();
      if (problem !== undefined) return { problem };
    }
    this.#end();
    return { words: this.#words };
  }

  #end(): void {
    if (this.#word !== undefined) this.#words.push(this.#word);
    this.#word = undefined;
  }

  #add(text: string): undefined {
    this.#word = (this.#word ?? '') + text;
  }

  /** Reads a character outside of quotes; returns the problem, if any. */
  #step(): string | undefined {
    const letter = this.#text[this.#at] ?? '';
    if (letter === '\n' || letter === ' ' || letter === '\t') {
      this.#end();
      this.#at += 1;
      if (letter === '\n' && this.#words.length > 0 && this.#text.slice(this.#at).trim() !== '') {
        return 'it has several lines: end each of them except the last with a backslash';
      }
      return undefined;
    }
    if (letter === '#' && this.#word === undefined) {
      const end = this.#text.indexOf('\n', this.#at);
      this.#at = end === -1 ? this.#text.length : end;
      return undefined;
    }
    if (letter === '\\') return this.#escape();
    if (letter === "'") return this.#single();
    if (letter === '"') return this.#double();
    if (letter === '$') return this.#dollar();
    if (letter === '`') return 'commands in backquotes are not run: replace them with their output';
    if (operators.has(letter)) {
      return `it has more than one command ("${letter}"): paste only the curl command, with its URL in quotes`;
    }
    this.#at += 1;
    return this.#add(letter);
  }

  #escape(): string | undefined {
    const next = this.#text[this.#at + 1];
    if (next === undefined) return 'it ends with a backslash';
    this.#at += 2;
    return next === '\n' ? undefined : this.#add(next);
  }

  #single(): string | undefined {
    const end = this.#text.indexOf("'", this.#at + 1);
    if (end === -1) return 'a single quote is not closed';
    this.#add(this.#text.slice(this.#at + 1, end));
    this.#at = end + 1;
    return undefined;
  }

  #double(): string | undefined {
    this.#add('');
    for (let at = this.#at + 1; at < this.#text.length; at += 1) {
      const letter = this.#text[at] ?? '';
      const next = this.#text[at + 1] ?? '';
      if (letter === '"') {
        this.#at = at + 1;
        return undefined;
      }
      if (letter === '`' || (letter === '$' && /[A-Za-z_{(]/.test(next))) return expansion;
      if (letter === '\\' && '$`"\\\n'.includes(next) && next !== '') {
        if (next !== '\n') this.#add(next);
        at += 1;
      } else this.#add(letter);
    }
    return 'a double quote is not closed';
  }

  #dollar(): string | undefined {
    const next = this.#text[this.#at + 1] ?? '';
    if (next === "'") return this.#ansi();
    // A dollar before double quotes requests a translation, which has no effect here.
    if (next === '"') {
      this.#at += 1;
      return this.#double();
    }
    if (/[A-Za-z_{(0-9@*#?$!-]/.test(next)) return expansion;
    this.#at += 1;
    return this.#add('$');
  }

  /** Reads `$'…'` with escapes as in C. */
  #ansi(): string | undefined {
    this.#add('');
    let at = this.#at + 2;
    while (at < this.#text.length) {
      const letter = this.#text[at] ?? '';
      if (letter === "'") {
        this.#at = at + 1;
        return undefined;
      }
      if (letter !== '\\') {
        this.#add(letter);
        at += 1;
        continue;
      }
      const code = /^\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3}))/.exec(
        this.#text.slice(at, at + 12),
      );
      const next = this.#text[at + 1] ?? '';
      if (code) {
        const [whole, hex, short, long, octal] = code;
        const point =
          octal === undefined ? Number.parseInt(hex ?? short ?? long ?? '', 16) : Number.parseInt(octal, 8);
        if (point > 0x10ffff) return 'it contains an invalid escape sequence';
        this.#add(String.fromCodePoint(point));
        at += whole.length;
      } else {
        this.#add(ansiLetters[next] ?? `\\${next}`);
        at += 2;
      }
    }
    return 'a quote is not closed';
  }
}

const expansion =
  'it uses a shell variable: write its value, or {{NAME}} for a variable of Picket, in single quotes';
