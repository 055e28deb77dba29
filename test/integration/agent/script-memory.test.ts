import { describe, expect, it } from 'vitest';
import { ScriptMemory } from '../../../src/agent/runners/script/script-memory.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';

const megabyte = 1024 ** 2;
const browser = { name: 'BROWSER', firstBytes: 600 * megabyte };
const suite = { name: 'PLAYWRIGHT', firstBytes: 1500 * megabyte };

function host(availableMegabytes: number) {
  const clock = new ManualClock();
  const state = { freeBytes: availableMegabytes * megabyte, readCount: 0 };
  const memory = new ScriptMemory({
    clock,
    availableBytes: () => {
      state.readCount += 1;
      return state.freeBytes;
    },
  });
  return { clock, state, memory, room: () => memory.room([browser, suite]) };
}

describe('memory of scripts', () => {
  it('has room for as many runs as fit, of any type', () => {
    expect(host(6000).room()).toEqual({ count: 4, fullTypes: [] });
    expect(host(2000).room()).toEqual({ count: 1, fullTypes: [] });
    expect(host(1400).room()).toEqual({ count: 2, fullTypes: ['PLAYWRIGHT'] });
  });

  it('has room for a small run on a host with little memory, and for no other one at a time', () => {
    const { memory, room } = host(300);
    expect(room()).toEqual({ count: 1, fullTypes: ['PLAYWRIGHT'] });
    memory.begin('one', { type: browser, checkId: 'a' });
    expect(room()).toEqual({ count: 0, fullTypes: ['BROWSER', 'PLAYWRIGHT'] });
  });

  it('reserves the memory that a suite will need, even if it has not used it long after its start', async () => {
    const { clock, memory, room } = host(2000);
    room();
    memory.begin('one', { type: suite, checkId: 'a' });
    await clock.advance(60_000);
    expect(room()).toEqual({ count: 0, fullTypes: ['BROWSER', 'PLAYWRIGHT'] });
    memory.end('one', { bytes: undefined, isLimit: false });
    expect(room()).toEqual({ count: 1, fullTypes: [] });
  });

  it('never uses more than others have left', async () => {
    const { clock, state, memory, room } = host(8000);
    room();
    memory.begin('one', { type: browser, checkId: 'a' });
    await clock.advance(60_000);
    state.freeBytes = 700 * megabyte;
    expect(room()).toEqual({ count: 1, fullTypes: ['PLAYWRIGHT'] });
  });

  it("reads the host's free memory at most ten times a second, and when a run has ended", async () => {
    const { clock, state, memory, room } = host(2000);
    for (let asked = 0; asked < 1000; asked += 1) room();
    expect(state.readCount).toBe(1);
    await clock.advance(100);
    room();
    expect(state.readCount).toBe(2);
    memory.begin('one', { type: browser, checkId: 'a' });
    state.freeBytes = 700 * megabyte;
    memory.end('one', { bytes: undefined, isLimit: false });
    expect(room()).toEqual({ count: 1, fullTypes: ['PLAYWRIGHT'] });
  });

  it('learns the memory of checks: a small suite needs less, a large one more, and it forgets', async () => {
    const { clock, memory, room } = host(2000);
    memory.begin('one', { type: suite, checkId: 'a' });
    memory.end('one', { bytes: 500 * megabyte, isLimit: false });
    expect(room()).toEqual({ count: 3, fullTypes: [] });
    memory.begin('two', { type: suite, checkId: 'b' });
    memory.end('two', { bytes: 1900 * megabyte, isLimit: false });
    expect(room()).toEqual({ count: 3, fullTypes: ['PLAYWRIGHT'] });
    await clock.advance(3 * 3_600_000);
    expect(room()).toEqual({ count: 1, fullTypes: [] });
  });

  it('reserves for a known check its usual memory', async () => {
    const { clock, memory, room } = host(3000);
    memory.begin('one', { type: suite, checkId: 'a' });
    memory.end('one', { bytes: 1000 * megabyte, isLimit: false });
    room();
    memory.begin('two', { type: suite, checkId: 'a' });
    await clock.advance(10_000);
    // 3000 - 1150 are left; the next suite may need the same.
    expect(room()).toEqual({ count: 1, fullTypes: [] });
  });

  it('learns nothing about other checks from one that exceeded its limit', () => {
    const { memory, room } = host(3000);
    memory.begin('one', { type: browser, checkId: 'a' });
    memory.end('one', { bytes: 2765 * megabyte, isLimit: true });
    expect(room()).toEqual({ count: 2, fullTypes: [] });
    // While that check runs, its expected memory is reserved.
    memory.begin('two', { type: browser, checkId: 'a' });
    expect(room()).toEqual({ count: 0, fullTypes: ['BROWSER', 'PLAYWRIGHT'] });
  });
});
