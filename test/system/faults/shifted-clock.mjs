/**
 * Loaded into an agent with `--import`: offsets its wall clock by the milliseconds in the file PICKET_TEST_CLOCK_FILE,
 * which is polled. Supported machines have no libfaketime, and a time namespace does not move the wall clock.
 */
import { readFileSync } from 'node:fs';

const file = process.env.PICKET_TEST_CLOCK_FILE;
const RealDate = Date;
let offsetMs = 0;

function look() {
  try {
    offsetMs = Number(readFileSync(file, 'utf8')) || 0;
  } catch {
    // Without the file, or without descriptors to read it, the clock is unchanged.
  }
}

globalThis.Date = class ShiftedDate extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(RealDate.now() + offsetMs);
    else super(...parts);
  }

  static now() {
    return RealDate.now() + offsetMs;
  }
};

look();
setInterval(look, 500).unref();
