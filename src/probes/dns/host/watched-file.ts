import { readFileSync, statSync } from 'node:fs';
import { errorCodeOf } from '@picket/lib/errors.ts';

/** Minimum interval between checks of a file, in milliseconds. */
const recheckMs = 1000;

/**
 * A small system file that is read again when it changes; a missing or unreadable file counts as empty. Reads are
 * synchronous on purpose: they take microseconds, and asynchronous reads would queue behind whatever occupies libuv's
 * threads.
 */
export class WatchedFile<Value> {
  readonly #path: string;
  readonly #parse: (text: string) => Value;
  #value: Value | undefined;
  #version = '';
  #checkedMs = Number.NEGATIVE_INFINITY;

  constructor(path: string, parse: (text: string) => Value) {
    this.#path = path;
    this.#parse = parse;
  }

  /** The file's current content, at most a second old. */
  read(): Value {
    const nowMs = performance.now();
    if (this.#value !== undefined && nowMs - this.#checkedMs < recheckMs) return this.#value;
    this.#checkedMs = nowMs;
    const version = this.#currentVersion();
    if (this.#value === undefined || version !== this.#version) {
      this.#version = version;
      this.#value = this.#parse(version === '' ? '' : this.#text());
    }
    return this.#value;
  }

  /** Changes whenever the content may have: kubelets and network managers replace the file. */
  #currentVersion(): string {
    try {
      const { ino, size, mtimeMs, ctimeMs } = statSync(this.#path);
      return `${ino}:${size}:${mtimeMs}:${ctimeMs}`;
    } catch (thrown) {
      if (errorCodeOf(thrown) === undefined) throw thrown;
      return '';
    }
  }

  #text(): string {
    try {
      return readFileSync(this.#path, 'utf8');
    } catch (thrown) {
      // Deleted or made unreadable since the last check.
      if (errorCodeOf(thrown) === undefined) throw thrown;
      return '';
    }
  }
}
