import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@picket/lib/log.ts';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ServiceClock } from '../../client/service-clock.ts';
import type { Report } from '../../run/contracts.ts';
import { readBack } from '../../scrub/report-texts.ts';
import { Spool } from './spool.ts';

/** Time stands still: nothing takes too long. */
const clock = { wallMs: () => 0, monotonicMs: () => 0, sleep: () => new Promise<void>(() => undefined) };

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'picket-spool-'));
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(directory, { recursive: true, force: true });
});

/** An open spool, and the results of each append, by id. */
async function openSpool() {
  const appends: string[][] = [];
  const log = createLogger('test', 'silent');
  log.debug = (fields: unknown) => {
    appends.push((fields as { readonly results: string[] }).results);
  };
  const stored = new Map<string, PromiseWithResolvers<void>>();
  const spool = new Spool({
    directory,
    tag: 'tag',
    maxBytes: 1_000_000,
    maxMemorySize: 1_000_000,
    clock,
    log,
    serviceClock: new ServiceClock(clock),
    notBeforeMs: () => 0,
    onDurable: ({ report }) => stored.get(report.resultId)?.resolve(),
    onDropped: () => undefined,
    onBacklog: () => undefined,
  });
  const add = (resultId: string, options = { mayWait: false }) => {
    const durable = Promise.withResolvers<void>();
    stored.set(resultId, durable);
    return { waiting: spool.add(reportOf(resultId), 'final', options), durable: durable.promise };
  };
  const left = async () => {
    const taken = await spool.take({ maxCount: 10, maxSize: 1_000_000 });
    return taken.map(({ report }) => report.resultId);
  };
  await spool.open();
  return { spool, add, left, appends };
}

function reportOf(resultId: string): Report {
  const texts = { envelopeJson: readBack('{}'), detailJson: readBack('null') };
  return { runId: resultId, leaseNumber: 1, resultId, ...texts };
}

it('writes waiting results together', async () => {
  const { spool, add, appends } = await openSpool();
  await Promise.all(['first', 'second', 'third'].map((resultId) => add(resultId).durable));
  expect(appends).toEqual([['first', 'second', 'third']]);
  await spool.close();
});

it('does not write results that the service accepts first', async () => {
  const { spool, add, appends } = await openSpool();
  spool.settle(add('alone').waiting);
  const taken = add('taken');
  const kept = add('kept');
  spool.settle(taken.waiting);
  await kept.durable;
  expect(appends).toEqual([['kept']]);
  await spool.close();
});

it('writes results that may wait with the first that may not, and a second later without any', async () => {
  const { spool, add, appends } = await openSpool();
  const taken = add('taken', { mayWait: true });
  const patient = add('patient', { mayWait: true });
  await add('other').durable;
  expect(appends).toEqual([['taken', 'patient', 'other']]);
  await patient.durable;
  spool.settle(taken.waiting);
  const sinceMs = performance.now();
  await add('last', { mayWait: true }).durable;
  expect(performance.now() - sinceMs).toBeGreaterThan(1_000);
  await spool.close();
});

it('writes results at once whose files the service does not have yet', async () => {
  const { spool, appends } = await openSpool();
  // Delayed work never runs.
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  const artifacts = { files: [] } as unknown as NonNullable<Report['artifacts']>;
  spool.add({ ...reportOf('with files'), artifacts }, 'final', { mayWait: true });
  await vi.waitFor(() => expect(appends).toEqual([['with files']]));
  vi.useRealTimers();
  await spool.close();
});

it('writes results at once that the service did not accept', async () => {
  const { spool, add, left, appends } = await openSpool();
  // Delayed work never runs.
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  const refused = add('refused');
  add('with it');
  spool.release([refused.waiting]);
  await refused.durable;
  vi.useRealTimers();
  expect(appends).toEqual([['refused', 'with it']]);
  expect(await left()).toEqual(['refused']);
  await spool.close();
});

it('closes with every delayed result on disk, except settled ones', async () => {
  const before = await openSpool();
  const settled = before.add('settled');
  await settled.durable;
  before.add('gathering');
  before.spool.settle(settled.waiting);
  await before.spool.close();
  const after = await openSpool();
  expect(await after.left()).toEqual(['gathering']);
  await after.spool.close();
});
