import { systemClock } from '@picket/lib/clock.ts';
import { LocalSignals } from '@picket/platform/store/engine/signals.ts';
import { afterAll, expect, it } from 'vitest';
import { type WaitingPoll, WaitingPolls } from './waiting-polls.ts';

const signals = new LocalSignals();
const polls = new WaitingPolls(systemClock, signals);
const over = new AbortController();
afterAll(() => over.abort());

/** Polls that sleep, each with free slots in the lane of probes, and the names of those that wake. */
function asleep(freeSlots: readonly number[]): {
  readonly woken: number[];
  readonly polls: readonly WaitingPoll[];
} {
  const woken: number[] = [];
  const joined = freeSlots.map((free, index) => {
    const poll = polls.join({
      locationId: 'lab',
      sessionId: `s${index}`,
      freeSlots: new Map([['probe', free]]),
      checkTypes: ['URL'],
    });
    void poll.sleep(60_000, over.signal).then(() => woken.push(index));
    return poll;
  });
  return { woken, polls: joined };
}

const queued = (count: number) =>
  signals.send([{ kind: 'queued', locationId: 'lab', lane: 'probe', checkType: 'URL', count }]);
const settled = () => new Promise((resolve) => setImmediate(resolve));
const leave = (all: readonly WaitingPoll[]) => {
  for (const poll of all) poll.passOn(Number.MAX_SAFE_INTEGER);
  for (const poll of all) poll.leave();
};

it('wakes as many polls as have free slots for the runs', async () => {
  const { woken, polls: all } = asleep([3, 4, 4]);
  queued(5);
  await settled();
  expect(woken).toEqual([0, 1]);
  leave(all);
});

it('wakes another poll for what one left over, at most one for each run', async () => {
  const { woken, polls: all } = asleep([9, 9, 9, 9]);
  queued(3);
  await settled();
  all[0]?.passOn(1);
  await settled();
  all[1]?.passOn(1);
  await settled();
  all[2]?.passOn(1);
  await settled();
  expect(woken).toEqual([0, 1, 2]);
  leave(all);
});

it('wakes another poll when one leaves before it looked', async () => {
  const { woken, polls: all } = asleep([9, 9]);
  queued(1);
  await settled();
  all[0]?.leave();
  await settled();
  expect(woken).toEqual([0, 1]);
  leave(all.slice(1));
});

it('wakes nothing more for runs that were taken', async () => {
  const { woken, polls: all } = asleep([9, 9]);
  queued(2);
  await settled();
  all[0]?.passOn(2);
  all[0]?.leave();
  await settled();
  expect(woken).toEqual([0]);
  leave(all);
});
