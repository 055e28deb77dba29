import { StringDecoder } from 'node:string_decoder';
import { stripVTControlCharacters } from 'node:util';

type OutputStream = 'stdout' | 'stderr';

/** Maximum length of a line. */
const maxLineLength = 8192;

/**
 * Joins the output of a script to lines, independent of its chunks: the search for secrets must see a whole line at
 * once. Each stream has its own lines. A line is held back until it ends, or the output does; a longer line is
 * truncated, with a mark.
 */
export class OutputLines {
  readonly #onLine: (stream: OutputStream, line: string) => void;
  readonly #open = new Map<OutputStream, { text: string; isCut: boolean }>();
  readonly #decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };

  /** @param onLine called with each line, without its terminator and without terminal colours. */
  constructor(onLine: (stream: OutputStream, line: string) => void) {
    this.#onLine = onLine;
  }

  /** @param piece may end anywhere, even within a character. */
  add(stream: OutputStream, piece: Buffer | string): void {
    this.#add(stream, typeof piece === 'string' ? piece : this.#decoders[stream].write(piece));
  }

  /** Ends the output: the last line of each stream may lack its terminator. */
  end(): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      this.#add(stream, this.#decoders[stream].end());
      this.#finish(stream);
    }
  }

  #add(stream: OutputStream, text: string): void {
    const lines = text.split('\n');
    const last = lines.pop() ?? '';
    for (const line of lines) {
      this.#keep(stream, line);
      // An empty line counts, too.
      if (!this.#open.has(stream)) this.#onLine(stream, '');
      else this.#finish(stream);
    }
    this.#keep(stream, last);
  }

  #keep(stream: OutputStream, part: string): void {
    if (part === '') return;
    const line = this.#open.get(stream) ?? { text: '', isCut: false };
    this.#open.set(stream, line);
    const room = maxLineLength - line.text.length;
    line.text += part.slice(0, room);
    line.isCut ||= part.length > room;
  }

  #finish(stream: OutputStream): void {
    const line = this.#open.get(stream);
    if (!line) return;
    this.#open.delete(stream);
    this.#onLine(stream, `${stripVTControlCharacters(line.text)}${line.isCut ? '…' : ''}`);
  }
}
