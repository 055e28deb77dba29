/**
 * Loaded into an agent with `--import`: its wall clock is off by the milliseconds that stand in the file
 * PICKET_TEST_CLOCK_FILE, which is read again and again. There is no libfaketime on the machines we know, and a time namespace
 * does not move the wall clock.
 */
import { readFileSync } from 'node:fs';

const file = process.env.PICKET_TEST_CLOCK_FILE;
const RealDate = Date;
let offsetMs = 0;

function look() {
  try {
    offsetMs = Number(readFileSync(file, 'utf8')) || 0;
  } catch {
    // Without the file, or without descriptors to read it, the clock stays as it is.
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
