'use strict';
/**
 * Playwright writes the output of a test into traces and reports piece by piece. A secret printed in pieces would not
 * be found there: this module joins the pieces to lines.
 */
const { StringDecoder } = require('node:string_decoder');

/** Longer output is passed on in parts. */
const maxHeldLength = 1024 * 1024;
/** A secret may have several lines: lines are held back until no output has arrived for this long, in milliseconds. */
const quietMs = 100;

const observed = new WeakSet();

/** @param loaded the exports of Playwright's testTracing.js. Versions that work differently are left alone. */
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

/** Joins each stream of a test's result to one text. */
function joinOutputOf(result) {
  for (const stream of ['stdout', 'stderr'])
    if (result[stream].length > 1) result[stream] = [joinedOutput(result[stream])];
}

/** Joins a stream of a test's result. @param chunks texts and buffers. */
function joinedOutput(chunks) {
  const decoder = new StringDecoder('utf8');
  return (
    chunks.map((chunk) => (typeof chunk === 'string' ? chunk : decoder.write(chunk))).join('') + decoder.end()
  );
}

module.exports = { observeOutput, joinOutputOf };
