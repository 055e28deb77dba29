import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { PicketProcess } from '../../helpers/picket-process.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { temporaryFolder, until } from '../../helpers/service/service.ts';
import { type ServiceProcess, startServiceProcess } from '../../helpers/service/service-process.ts';
import { emptyDatabase } from '../../helpers/service/shared-database.ts';

const key = 'bootstrap-key-of-the-tests';
const noPostgres = whyNoPostgres();
const shiftedClock = join(import.meta.dirname, '../faults/shifted-clock.mjs');
const minuteMs = 60_000;
const started: PicketProcess[] = [];
const folders: ReturnType<typeof temporaryFolder>[] = [];

afterEach(async () => {
  await Promise.all(started.splice(0).map((each) => each.kill('SIGKILL')));
  for (const folder of folders.splice(0)) folder.remove();
});

/** A service with an offset wall clock. */
async function startShifted(shiftMs: number, environment: Record<string, string>) {
  const folder = temporaryFolder();
  folders.push(folder);
  const file = join(folder.path, 'shift');
  writeFileSync(file, String(shiftMs));
  const service = await startServiceProcess(
    {
      BOOTSTRAP_API_KEY: key,
      DATA_DIR: folder.path,
      NODE_OPTIONS: `--import=${shiftedClock}`,
      PICKET_TEST_CLOCK_FILE: file,
      LOG_LEVEL: 'info',
      ...environment,
    },
    (process) => started.push(process),
  );
  return { service, shift: (ms: number) => writeFileSync(file, String(ms)) };
}

async function checkEverySecond(service: ServiceProcess): Promise<{ checkId: string; locationKey: string }> {
  const made = await service.call('POST', '/v1/private-locations', { name: 'lab', slugName: 'lab' });
  const check = await service.call('POST', '/v1/checks/url', {
    name: 'often',
    frequency: 0,
    frequencyOffset: 10,
    privateLocations: ['lab'],
    request: { url: 'http://x.test' },
  });
  expect(check.status).toBe(201);
  return { checkId: check.body.id, locationKey: made.body.keys[0].rawKey };
}

const session = { agentId: 'agent', sessionId: randomUUID() };
const claimBody = {
  ...session,
  version: '8.0.0',
  platform: 'test',
  checkTypes: ['URL'],
  freeSlots: { probe: 1, script: 0 },
  waitMs: 5_000,
};

interface Run {
  readonly runId: string;
  readonly resultId: string;
  readonly leaseNumber: number;
  readonly slotAt: number;
}

const resultOf = (run: Run, startedAt: number) => ({
  resultId: run.resultId,
  runId: run.runId,
  leaseNumber: run.leaseNumber,
  startedAt,
  stoppedAt: startedAt + 1,
  hostStartedAt: null,
  responseTimeMs: 1,
  startDelayMs: 0,
  agentLagMs: 0,
  agentOverheadMs: 0,
  isTimingDoubtful: false,
  certificateExpiresAt: null,
  isDegraded: false,
  overMaxResponseTime: false,
  failure: null,
  errorMessages: [],
  detail: null,
});

describe.skipIf(noPostgres !== null)(`two services whose clocks differ${noPostgres ?? ''}`, () => {
  it('lease, renew, sweep and schedule by the clock of the database', async () => {
    const databaseUrl = await emptyDatabase();
    const environment = { DATABASE_URL: databaseUrl };
    const behind = (await startShifted(-5 * minuteMs, environment)).service;
    const ahead = (await startShifted(5 * minuteMs, environment)).service;
    const { checkId, locationKey } = await checkEverySecond(behind);
    const services = [behind, ahead];
    const slots: number[] = [];
    for (const [claims, reports] of [services, services.toReversed()]) {
      const run: Run = await until('a run is leased', async () => {
        const answer = await claims?.call('POST', '/v1/agent/claims', claimBody, locationKey);
        expect(Math.abs(answer?.body.serverTime - Date.now())).toBeLessThan(minuteMs);
        return answer?.body.runs[0];
      });
      slots.push(run.slotAt);
      // Longer than the sweep of a service with a fast clock would sleep.
      const heldUntil = performance.now() + 6_000;
      await until('the lease was held for a while', async () => {
        const leases = [{ runId: run.runId, leaseNumber: run.leaseNumber }];
        const renewed = await claims?.call(
          'POST',
          '/v1/agent/leases/renew',
          { ...session, leases },
          locationKey,
        );
        expect(renewed?.body.lostRunIds).toEqual([]);
        await sleep(250);
        return performance.now() > heldUntil;
      });
      const body = { ...session, results: [resultOf(run, Date.now())] };
      const reported = await reports?.call('POST', '/v1/agent/results', body, locationKey);
      expect(reported?.body.items.map(({ status }: { status: string }) => status)).toEqual(['accepted']);
    }
    expect(slots).toEqual(slots.toSorted((left, right) => left - right));
    expect(Math.abs((slots.at(-1) ?? 0) - Date.now())).toBeLessThan(minuteMs);
    const { body } = await ahead.call('GET', `/v1/check-results/${checkId}`);
    expect(body).toHaveLength(2);
    for (const { process } of services) {
      expect(process.output()).toContain("the host's clock differs from the database's");
    }
  }, 120_000);
});

describe('a service on SQLite', () => {
  it('keeps its time when the clock of its host jumps ahead by an hour and back', async () => {
    const { service, shift } = await startShifted(0, {});
    const { locationKey } = await checkEverySecond(service);
    const serverTime = async () =>
      (await service.call('POST', '/v1/agent/claims', { ...claimBody, waitMs: 0 }, locationKey)).body
        .serverTime;
    shift(60 * minuteMs);
    await until('the jump is seen', () => service.process.output().includes('clock jumped'));
    expect(Math.abs((await serverTime()) - Date.now())).toBeLessThan(minuteMs);
    shift(0);
    await until('the clock is back', () => service.process.output().includes('clock returned'));
    expect(Math.abs((await serverTime()) - Date.now())).toBeLessThan(minuteMs);
  });
});
