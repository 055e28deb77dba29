'use strict';
/**
 * How the processes of a run tell the agent what happens: one JSON object a line. Playwright's runner (and a
 * plain script's only process) has descriptor 3; its worker has something else there, so what runs in it
 * appends to a file, which the agent reads after the end. The script can write to both. On descriptor 3 the
 * agent's own lines have a token in front, which stands in no file, variable or argument: a line without it says nothing.
 * A script that searches the memory of its process finds it, so that what the lines say stays the script's word.
 */
const fs = require('node:fs');
const { errorNameIn } = require('./foreign-texts.cjs');

const maxTextLength = 8192;

// What a script puts in their place later, it does not stand between us and the agent, and reads no token.
const { writeSync } = fs;
const { stringify } = JSON;
const bytesOf = Buffer.from.bind(Buffer);

/** Says that a warm process has loaded what it could: it has no token yet, and no script. */
function sendLoaded() {
  write(stringify({ event: 'loaded' }));
}

/** What writes whole lines to descriptor 3, however slow the reader is, each with the token in front. */
function senderWith(token) {
  return (event) => write(`${token} ${stringify({ at: Date.now(), ...event })}`);
}

/** A line break before it, too: half a line of another writer does not become the head of ours. */
function write(text) {
  const line = bytesOf(`\n${text}\n`);
  let written = 0;
  while (written < line.length) {
    try {
      written += writeSync(3, line, written);
    } catch (error) {
      if (error.code !== 'EAGAIN') return;
      // The pipe is full. Nothing else may happen before the line is out, so the thread waits.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

/** Appends a line to the run's file of events. A full disk must not change what the script does. */
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
 * A text without terminal colours, cut to what a result may hold; the mark tells the search for secrets that
 * it was.
 */
function text(value, maxLength = maxTextLength) {
  const whole = String(value ?? '').replace(escapes, '');
  return whole.length > maxLength ? `${whole.slice(0, maxLength - 1)}…` : whole;
}

/** As many errors that lie behind one are named. */
const maxCauses = 5;

/** Why an error happened, as far as the errors behind it say: `connect ECONNREFUSED 127.0.0.1:9`. */
function reasonsOf(error) {
  const reasons = [];
  let cause = error.cause;
  for (let depth = 0; depth < maxCauses && typeof cause === 'object' && cause !== null; depth += 1) {
    // What failed at each address of a name has no message of its own.
    const parts = Array.isArray(cause.errors) ? cause.errors.map((one) => one?.message) : [];
    const said = [cause.message || cause.value, ...parts].filter(Boolean).join(', ');
    // Playwright puts the name before the message.
    const reason = String(said || cause.code || '').replace(/^\w*Error: /, '');
    if (reason !== '' && !reasons.includes(reason)) reasons.push(reason);
    cause = cause.cause;
  }
  return reasons;
}

/** A place in a file as messages name it: `check.spec.ts:4:11`. */
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
 * An error as events carry it, whatever was thrown. Of one that only says that something else failed, as `fetch
 * failed` does, the message names that, and the line.
 *
 * @param place where the step or test is that failed: named where the stack is of Node's own frames alone, as for sockets.
 */
function describe(error, place) {
  if (typeof error !== 'object' || error === null) {
    return { name: 'Error', message: text(error), stack: null };
  }
  const stack = typeof error.stack === 'string' ? text(error.stack) : null;
  const reasons = reasonsOf(error);
  const own = lineOf(error, stack);
  // Playwright takes frames of Node out; limits of time and the like have no stack at all.
  const isLost = own === undefined && stack !== null;
  const line = (reasons.length > 0 ? own : undefined) ?? (isLost ? placeText(place) : undefined);
  const said = String(error.message ?? error.value ?? error);
  const message = text([said, ...reasons].join(': ') + (line === undefined ? '' : ` (${line})`));
  const name = error.name ?? errorNameIn(message) ?? errorNameIn(stack ?? '') ?? 'Error';
  // What our reporters found out about it (launches.cjs).
  const { launchMs } = error;
  return { name: text(name), message, stack, ...(typeof launchMs === 'number' ? { launchMs } : {}) };
}

module.exports = { sendLoaded, senderWith, note, text, describe };
