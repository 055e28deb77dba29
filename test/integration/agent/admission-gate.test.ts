import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type ThreadGauge, ThreadLoad } from '../../../src/agent/runners/lag/thread-load.ts';
import { AdmissionGate, maxGateWaitMs } from '../../../src/agent/runners/probe/admission-gate.ts';
import { GateStats } from '../../../src/agent/runners/probe/gate-stats.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';

const never = new AbortController().signal;

/** A thread whose CPU usage the test sets. */
class WrittenGauge implements ThreadGauge {
  cpu = 0;
  active = 0;
  cpuMs = () => this.cpu;
  activeMs = () => this.active;
}

function stage() {
  const clock = new ManualClock();
  const gauge = new WrittenGauge();
  const board = new GateStats();
  const gate = new AdmissionGate({ clock, load: new ThreadLoad(gauge), board, random: () => 0.5 });
  return { clock, gauge, board, gate };
}

/** Advances the clock in steps of a millisecond. Returns the time at which each of the runs started. */
async function startTimes(clock: ManualClock, entered: (boolean | Promise<boolean>)[], untilMs: number) {
  const times: (number | undefined)[] = entered.map((one) => (one === true ? 0 : undefined));
  entered.forEach((one, index) => {
    if (one instanceof Promise) {
      void one.then((isAdmitted) => {
        if (isAdmitted) times[index] = clock.monotonicMs();
      });
    }
  });
  for (let nowMs = 0; nowMs < untilMs; nowMs += 1) {
    clock.advance(1);
    await turn();
  }
  return times;
}

describe('the admission gate', () => {
  it('lets a run start at once if the thread is idle, without a timer', () => {
    const { gate } = stage();
    for (let run = 0; run < 20; run += 1) {
      expect(gate.enter('URL', never)).toBe(true);
      gate.leave();
    }
  });

  it('starts the runs of a burst in sequence, with a gap in between', async () => {
    const { clock, gate, board } = stage();
    const entered = Array.from({ length: 10 }, () => gate.enter('URL', never));
    expect(board.waitingCount).toBe(9);
    // Unknown types are assumed to cost 1 ms.
    const times = await startTimes(clock, entered, 40);
    expect(times).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(board.waitingCount).toBe(0);
  });

  it('learns the cost of runs and adapts the gap, within bounds', async () => {
    const { clock, gauge, gate } = stage();
    const spend = async (cpuMsPerRun: number, runs: number) => {
      for (let run = 0; run < runs; run += 1) {
        const entered = gate.enter('URL', never);
        gauge.cpu += cpuMsPerRun;
        clock.advance(10);
        await entered;
        gate.leave();
      }
    };
    await spend(0.2, 400);
    expect(gate.costMs('URL')).toBeCloseTo(0.2, 1);
    await spend(4, 400);
    expect(gate.costMs('URL')).toBeCloseTo(4, 0);
    await spend(100, 400);
    expect(gate.costMs('URL')).toBe(10);
    await spend(0, 2000);
    expect(gate.costMs('URL')).toBe(0.05);
    // Usage while hardly anything started says nothing about a run.
    for (let run = 0; run < 20; run += 1) {
      gauge.cpu += 50;
      clock.advance(1000);
      await gate.enter('URL', never);
      gate.leave();
    }
    expect(gate.costMs('URL')).toBe(0.05);
  });

  it('starts nothing while the thread is busy with a run, and recovers quickly', async () => {
    const { clock, gauge, gate } = stage();
    expect(gate.enter('URL', never)).toBe(true);
    const waiting = gate.enter('URL', never);
    let isAdmitted: boolean | undefined;
    void Promise.resolve(waiting).then((admitted) => {
      isAdmitted = admitted;
    });
    // The load is first measured when the gap is over; from then on the thread is always busy.
    gauge.active = 1;
    clock.advance(1);
    const busy = stage();
    expect(busy.gate.enter('URL', never)).toBe(true);
    for (let ms = 0; ms < 2000; ms += 10) {
      busy.gauge.active += 9;
      busy.clock.advance(10);
      const early = busy.gate.enter('URL', never);
      if (early === true) busy.gate.leave();
      else if (early) {
        // From here on the gate is shut: no run starts while the load persists.
        const held = startTimesOf(early, busy.clock);
        for (let more = 0; more < 300; more += 10) {
          busy.gauge.active += 9;
          busy.clock.advance(10);
          await turn();
        }
        expect(held.at).toBeUndefined();
        // Once the thread is free for a moment, the gate opens, although the last second was busy.
        for (let free = 0; free < 250 && held.at === undefined; free += 10) {
          busy.clock.advance(10);
          await turn();
        }
        expect(held.at).toBeDefined();
        break;
      }
    }
    expect(busy.clock.monotonicMs()).toBeLessThan(2000);
    clock.advance(30);
    await turn();
    expect(isAdmitted).toBe(true);
  });

  it('starts a run that has waited for long, and all waiting runs once no run is in progress', async () => {
    const { clock, gauge, gate } = stage();
    const keepBusy = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 10) {
        gauge.active += 10;
        clock.advance(10);
        await turn();
      }
    };
    gate.enter('URL', never);
    const early: (boolean | Promise<boolean>)[] = [];
    for (let passed = 0; passed < 1500 && !(early.at(-1) instanceof Promise); passed += 50) {
      await keepBusy(50);
      const entered = gate.enter('URL', never);
      if (entered === true) gate.leave();
      early.push(entered);
    }
    const held = startTimesOf(early.at(-1) as Promise<boolean>, clock);
    const sinceMs = clock.monotonicMs();
    await keepBusy(maxGateWaitMs - 100);
    expect(held.at).toBeUndefined();
    await keepBusy(150);
    expect(held.at).toBeGreaterThanOrEqual(sinceMs + maxGateWaitMs);
    const next = startTimesOf(gate.enter('URL', never) as Promise<boolean>, clock);
    gate.leave();
    gate.leave();
    await turn();
    expect(next.at).toBe(clock.monotonicMs());
  });

  it('releases waiting runs that are stopped or withdrawn, and no others', async () => {
    const { clock, gate, board } = stage();
    const stop = new AbortController();
    gate.enter('URL', never);
    const [stopped, kept] = [gate.enter('URL', stop.signal), gate.enter('URL', never)];
    expect(gate.enter('URL', AbortSignal.abort())).toBe(false);
    clock.advance(0.5);
    expect(board.oldestWaitMs(clock.monotonicMs())).toBe(0.5);
    stop.abort();
    expect(await stopped).toBe(false);
    expect(board.waitingCount).toBe(1);
    gate.withdrawAll();
    expect(await kept).toBe(false);
    expect(gate.waitingCount).toBe(0);
    expect(board.oldestWaitMs(clock.monotonicMs())).toBe(0);
  });
});

function startTimesOf(entered: Promise<boolean>, clock: ManualClock): { at: number | undefined } {
  const seen: { at: number | undefined } = { at: undefined };
  void entered.then((isAdmitted) => {
    if (isAdmitted) seen.at = clock.monotonicMs();
  });
  return seen;
}
