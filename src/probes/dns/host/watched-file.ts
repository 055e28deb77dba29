import { readFileSync, statSync } from 'node:fs';
import { errorCodeOf } from '@picket/lib/errors.ts';

/** How often a file may be looked at, in milliseconds. */
const recheckMs = 1000;

/**
 * A small system file that is read again when it has changed; a file that is missing or cannot be read is
 * empty. Reads are synchronous on purpose: they take microseconds, and asynchronous ones would queue behind
 * whatever occupies libuv's threads.
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

  /** What the file says now, give or take a second. */
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

  /**
   * Differs whenever the content may: kubelets and network managers replace the file rather than write to it.
   */
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
      // Gone or forbidden since it was looked at.
      if (errorCodeOf(thrown) === undefined) throw thrown;
      return '';
    }
  }
}
