import { expect, it } from 'vitest';
import { DiagnosisGate, maxPerMinute, maxPerTarget } from './diagnosis-gate.ts';

/** A gate, and a function that advances its clock. */
function gateAt() {
  let nowMs = 0;
  const gate = new DiagnosisGate(() => nowMs);
  return {
    gate,
    pass: (elapsedMs: number) => {
      nowMs += elapsedMs;
    },
  };
}

it('lets one through at a time', () => {
  const { gate } = gateAt();
  expect(gate.enter('a')).toBeUndefined();
  expect(gate.enter('b')).toMatch(/in progress/);
  gate.leave();
  expect(gate.enter('b')).toBeUndefined();
});

it('lets a number through in any minute', () => {
  const { gate, pass } = gateAt();
  for (let count = 0; count < maxPerMinute; count += 1) {
    expect(gate.enter(`target ${count}`)).toBeUndefined();
    gate.leave();
    pass(5000);
  }
  expect(gate.enter('another')).toMatch(/6 in the last minute/);
  pass(60_000 - maxPerMinute * 5000 - 1);
  expect(gate.enter('another')).toMatch(/6 in the last minute/);
  pass(1);
  expect(gate.enter('another')).toBeUndefined();
  gate.leave();
  expect(gate.enter('yet another')).toMatch(/6 in the last minute/);
});

it('keeps a target that fails all the time from having them all', () => {
  const { gate, pass } = gateAt();
  for (let count = 0; count < maxPerTarget; count += 1) {
    expect(gate.enter('a')).toBeUndefined();
    gate.leave();
  }
  expect(gate.enter('a')).toMatch(/2 of this target/);
  expect(gate.enter('b')).toBeUndefined();
  gate.leave();
  pass(60_000);
  expect(gate.enter('a')).toBeUndefined();
});
