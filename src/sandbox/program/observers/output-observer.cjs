'use strict';
/**
 * Playwright writes into traces and reports what a test prints, each piece as it came. A secret that is
 * printed in pieces would stand there in pieces and not be found: here the pieces are joined to lines.
 */
const { StringDecoder } = require('node:string_decoder');

/** More than this goes on its way in parts. */
const maxHeldLength = 1024 * 1024;
/**
 * A secret may have several lines: lines are held back until nothing more came for so long, in milliseconds.
 */
const quietMs = 100;

const observed = new WeakSet();

/** @param loaded what Playwright's testTracing.js exports. A version that works differently is left alone. */
function observeOutput(loaded) {
  const prototype = loaded?.TestTracing?.prototype;
  if (!prototype || observed.has(prototype)) return;
  observed.add(prototype);
  const { appendStdioToTrace: append, stopIfNeeded } = prototype;
  if (typeof append !== 'function' || typeof stopIfNeeded !== 'function') return;
  const held = new WeakMap();
  prototype.appendStdioToTrace = function appendLines(type, chunk) {
    const outputs = held.get(this) ?? {};
    held.set(this, outputs);
    outputs[type] ??= new HeldOutput((text) => append.call(this, type, text));
    outputs[type].add(chunk);
  };
  prototype.stopIfNeeded = function stopWithLines(...args) {
    for (const output of Object.values(held.get(this) ?? {})) output.end();
    held.delete(this);
    return stopIfNeeded.apply(this, args);
  };
}

class HeldOutput {
  #text = '';
  #decoder = new StringDecoder('utf8');
  #timer;
  #pass;

  constructor(pass) {
    this.#pass = pass;
  }

  add(chunk) {
    this.#text += typeof chunk === 'string' ? chunk : this.#decoder.write(chunk);
    clearTimeout(this.#timer);
    if (this.#text.length > maxHeldLength) this.#release(this.#text.length);
    else this.#timer = setTimeout(() => this.#release(this.#text.lastIndexOf('\n') + 1), quietMs).unref();
  }

  end() {
    clearTimeout(this.#timer);
    this.#text += this.#decoder.end();
    this.#release(this.#text.length);
  }

  #release(length) {
    if (length > 0) this.#pass(this.#text.slice(0, length));
    this.#text = this.#text.slice(length);
  }
}

/** Makes one text of each of the streams of a test's result. */
function joinOutputOf(result) {
  for (const stream of ['stdout', 'stderr'])
    if (result[stream].length > 1) result[stream] = [joinedOutput(result[stream])];
}

/** What a stream of a test's result holds, as one text. @param chunks texts and buffers. */
function joinedOutput(chunks) {
  const decoder = new StringDecoder('utf8');
  return (
    chunks.map((chunk) => (typeof chunk === 'string' ? chunk : decoder.write(chunk))).join('') + decoder.end()
  );
}

module.exports = { observeOutput, joinOutputOf };
