import { createLogger } from '@picket/lib/log.ts';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ServiceError } from '../client/service-error.ts';
import type { LinesOfRun } from '../run/contracts.ts';
import { LiveLogSender } from './live-log-sender.ts';

let nowMs = 0;
let reads: string[] = [];
let sent: string[] = [];
let answer: () => Promise<readonly string[]>;
let sender: LiveLogSender;

beforeEach(() => {
  vi.useFakeTimers();
  [nowMs, reads, sent] = [0, [], []];
  answer = async () => ['run'];
  sender = new LiveLogSender({
    clock: { monotonicMs: () => nowMs },
    log: createLogger('test', 'silent'),
    read: (places) => reads.push(places.map(({ runId, nextLine }) => `${runId}:${nextLine}`).join(' ')),
    send: async (runs) => {
      sent.push(...runs.map(({ runId, firstLine }) => `${runId}:${firstLine}`));
      return answer();
    },
  });
});
afterEach(() => {
  sender.stop();
  vi.useRealTimers();
});

const line = { time: 0, level: 'INFO', msg: 'line' } as LinesOfRun['lines'][number];
const linesOf = (runId: string, firstLine = 0): LinesOfRun => ({
  ...{ runId, leaseNumber: 1, firstLine, lines: [line, line], isFull: false },
});

async function pass(ms: number) {
  for (let left = ms; left > 0; left -= 500) {
    nowMs += 500;
    await vi.advanceTimersByTimeAsync(500);
  }
}

it('reads and sends nothing without a reader, and stops when answers no longer name the run', async () => {
  sender.follow([]);
  sender.take([linesOf('run')]);
  await pass(5_000);
  expect([reads, sent, vi.getTimerCount()]).toEqual([[], [], 0]);
  sender.follow(['run']);
  await pass(2_000);
  expect(reads).toEqual(['run:0', 'run:0', 'run:0']);
  await pass(30_000);
  expect(reads.length).toBeLessThan(25);
  expect(vi.getTimerCount()).toBe(0);
});

it('goes on after the lines that the service has, when someone reads again', async () => {
  sender.follow(['run']);
  sender.take([linesOf('run')]);
  await pass(1_000);
  // Without a reader the service dropped these.
  answer = async () => [];
  sender.take([linesOf('run', 2)]);
  await pass(2_000);
  expect(vi.getTimerCount()).toBe(0);
  answer = async () => ['run'];
  sender.follow(['run']);
  expect(reads).toEqual(['run:0', 'run:2', 'run:2']);
  // Lines out of order are not sent.
  sender.take([linesOf('run', 4)]);
  sender.take([linesOf('run', 2)]);
  await pass(500);
  expect(sent).toEqual(['run:0', 'run:2', 'run:2']);
});

it('stops when the service does not know the call', async () => {
  sender.follow(['run']);
  answer = async () => {
    throw new ServiceError('rejected', 'no such path', { httpStatus: 404 });
  };
  sender.take([linesOf('run')]);
  await pass(1_000);
  expect([sent, vi.getTimerCount()]).toEqual([['run:0'], 0]);
});

it('pauses after a failure, and reads the same lines again', async () => {
  sender.follow(['run']);
  answer = async () => {
    throw new ServiceError('unreachable', 'connection refused');
  };
  sender.take([linesOf('run')]);
  await pass(4_000);
  expect([reads, sent]).toEqual([['run:0'], ['run:0']]);
  await pass(3_000);
  expect(reads.slice(1)).toEqual(['run:0', 'run:0']);
});
