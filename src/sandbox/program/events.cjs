'use strict';
/**
 * How the processes of a run report events to the agent: one JSON object per line. Playwright's runner (and a plain
 * script's only process) uses descriptor 3; in the worker that descriptor is taken, so it appends to a file, which the
 * agent reads after the end. The script can write to both. On descriptor 3 the agent's own lines start with a token
 * that is in no file, variable or argument: lines without it are ignored. A script that searches its process memory can
 * find it, so the content of the lines remains untrusted.
 */
const fs = require('node:fs');
const { errorNameIn } = require('./foreign-texts.cjs');

const maxTextLength = 8192;

// Captured early, so that a script that replaces these functions neither intercepts events nor reads the token.
const { writeSync } = fs;
const { stringify } = JSON;
const bytesOf = Buffer.from.bind(Buffer);

/** Reports that a warm process has finished loading: it has no token and no script yet. */
function sendLoaded() {
  write(stringify({ event: 'loaded' }));
}

/** Returns a function that writes whole lines to descriptor 3, however slow the reader is, prefixed with the token. */
function senderWith(token) {
  return (event) => write(`${token} ${stringify({ at: Date.now(), ...event })}`);
}

/** Starts with a line break, too: a partial line of another writer must not become a prefix of ours. */
function write(text) {
  const line = bytesOf(`\n${text}\n`);
  let written = 0;
  while (written < line.length) {
    try {
      written += writeSync(3, line, written);
    } catch (error) {
      if (error.code !== 'EAGAIN') return;
      // The pipe is full. Nothing else may happen before the line is written, so the thread waits.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

/** Appends a line to the run's file of events. A full disk must not change the script's behaviour. */
function note(event) {
  const file = process.env.PICKET_NOTES;
  if (!file) return;
  try {
    fs.appendFileSync(file, `${JSON.stringify({ at: Date.now(), ...event })}\n`);
  } catch (error) {
    if (error.code !== 'ENOSPC' && error.code !== 'ENOENT' && error.code !== 'EFBIG') throw error;
  }
}

const escapes = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

/**
 * Removes terminal colours and truncates a text to the limit of a result; the mark tells the search for secrets that it
 * was truncated.
 */
function text(value, maxLength = maxTextLength) {
  const whole = String(value ?? '').replace(escapes, '');
  return whole.length > maxLength ? `${whole.slice(0, maxLength - 1)}…` : whole;
}

/** Maximum number of causes in a message. */
const maxCauses = 5;

/** Collects the messages of an error's causes: `connect ECONNREFUSED 127.0.0.1:9`. */
function reasonsOf(error) {
  const reasons = [];
  let cause = error.cause;
  for (let depth = 0; depth < maxCauses && typeof cause === 'object' && cause !== null; depth += 1) {
    // An error for several addresses of a name has no message of its own.
    const parts = Array.isArray(cause.errors) ? cause.errors.map((one) => one?.message) : [];
    const said = [cause.message || cause.value, ...parts].filter(Boolean).join(', ');
    // Playwright prefixes the message with the name.
    const reason = String(said || cause.code || '').replace(/^\w*Error: /, '');
    if (reason !== '' && !reasons.includes(reason)) reasons.push(reason);
    cause = cause.cause;
  }
  return reasons;
}

/** Formats a place in a file for messages: `check.spec.ts:4:11`. */
function placeText({ file, line, column } = {}) {
  return typeof file === 'string' ? `${file.split('/').pop()}:${line}:${column}` : undefined;
}

/** The line of the script that an error comes from. */
function lineOf(error, stack) {
  const place = placeText(error.location ?? undefined);
  if (place !== undefined) return place;
  const own = (stack ?? '')
    .split('\n')
    .find(
      (frame) =>
        /^\s+at /.test(frame) &&
        !/node:|node_modules|<anonymous>(?::[\d:]+)?\)?$/.test(frame) &&
        !frame.includes(__dirname),
    );
  return /([^/\s(]+:\d+:\d+)\)?$/.exec(own ?? '')?.[1];
}

/**
 * Converts any thrown value to an error for events. If it only says that something else failed, such as `fetch failed`,
 * the message adds the cause and the line.
 *
 * @param place location of the failed step or test: used if the stack contains only Node's own frames, as for sockets.
 */
function describe(error, place) {
  if (typeof error !== 'object' || error === null) {
    return { name: 'Error', message: text(error), stack: null };
  }
  const stack = typeof error.stack === 'string' ? text(error.stack) : null;
  const reasons = reasonsOf(error);
  const own = lineOf(error, stack);
  // Playwright removes Node's frames; timeouts and the like have no stack at all.
  const isLost = own === undefined && stack !== null;
  const line = (reasons.length > 0 ? own : undefined) ?? (isLost ? placeText(place) : undefined);
  const said = String(error.message ?? error.value ?? error);
  const message = text([said, ...reasons].join(': ') + (line === undefined ? '' : ` (${line})`));
  const name = error.name ?? errorNameIn(message) ?? errorNameIn(stack ?? '') ?? 'Error';
  // Set by our reporters (launches.cjs).
  const { launchMs } = error;
  return { name: text(name), message, stack, ...(typeof launchMs === 'number' ? { launchMs } : {}) };
}

module.exports = { sendLoaded, senderWith, note, text, describe };
