import { expect, it } from 'vitest';
import { DiagnosisGate, maxPerMinute, maxPerTarget } from './diagnosis-gate.ts';

/** A gate, and a function that moves its clock. */
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

it('admits one at a time', () => {
  const { gate } = gateAt();
  expect(gate.enter('a')).toBeUndefined();
  expect(gate.enter('b')).toMatch(/in progress/);
  gate.leave();
  expect(gate.enter('b')).toBeUndefined();
});

it('admits a limited number in any minute', () => {
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

it('does not let a target that always fails use all of them', () => {
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
