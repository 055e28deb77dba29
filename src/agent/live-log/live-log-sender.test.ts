import { createLogger } from '@picket/lib/log.ts';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ServiceError } from '../client/service-error.ts';
import type { LinesOfRun } from '../run/contracts.ts';
import { LiveLogSender } from './live-log-sender.ts';

let nowMs = 0;
let reads: (readonly string[])[] = [];
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
    read: (runIds) => reads.push(runIds),
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

const linesOf = (runId: string, firstLine = 0): LinesOfRun => ({
  runId,
  leaseNumber: 1,
  firstLine,
  lines: [],
});

async function pass(ms: number) {
  for (let left = ms; left > 0; left -= 500) {
    nowMs += 500;
    await vi.advanceTimersByTimeAsync(500);
  }
}

it('reads and sends nothing unless someone follows, and stops when no answer names the run any more', async () => {
  sender.follow([]);
  sender.take([linesOf('run')]);
  await pass(5_000);
  expect([reads, sent, vi.getTimerCount()]).toEqual([[], [], 0]);
  sender.follow(['run']);
  await pass(3_000);
  expect(reads).toEqual([['run'], ['run'], ['run']]);
  await pass(30_000);
  expect(reads.length).toBeLessThan(25);
  expect(vi.getTimerCount()).toBe(0);
});

it('stops when the service says that nobody follows, or does not know the call', async () => {
  sender.follow(['run', 'other']);
  answer = async () => [];
  sender.take([linesOf('run')]);
  await pass(1_000);
  expect(reads).toEqual([['other']]);
  answer = async () => {
    throw new ServiceError('rejected', 'no such path', { httpStatus: 404 });
  };
  sender.take([linesOf('other')]);
  await pass(1_000);
  expect([sent, vi.getTimerCount()]).toEqual([['run:0', 'other:0'], 0]);
});

it('sends lines again after a failure, reads no others meanwhile, and leaves a pause', async () => {
  sender.follow(['run']);
  answer = async () => {
    throw new ServiceError('unreachable', 'connection refused');
  };
  sender.take([linesOf('run', 7)]);
  await pass(4_000);
  expect([reads, sent]).toEqual([[], ['run:7']]);
  answer = async () => ['run'];
  await pass(3_000);
  expect(sent).toEqual(['run:7', 'run:7']);
  expect(reads.length).toBeGreaterThan(0);
});
