import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createLocation,
  type RunningService,
  startAgentProcess,
  startServiceProcess,
  until,
} from '../../helpers/picket-process.ts';
import { readLedger } from '../../helpers/service/ledger-view.ts';

interface Result {
  readonly resultType: string;
  readonly hasFailures: boolean;
  readonly hasErrors: boolean;
  readonly runLocation: string;
  readonly responseTime: number;
  readonly attempts: number;
  readonly sequenceId: string;
  readonly failure: { owner: string; code: string } | null;
  readonly apiCheckResult: {
    readonly response: { status: number; timingPhases: Record<string, number> | null };
    readonly assertions: { error: string | null }[];
  } | null;
}

describe('the ring: a real service, a real agent, a real target', () => {
  const answers = { status: 200 };
  const target = createServer((_request, response) => {
    response.writeHead(answers.status, { 'content-type': 'application/json' }).end('{"items":[1,2,3]}');
  });
  let dataDir: string;
  let targetUrl: string;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'picket-ring-'));
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
    targetUrl = `http://127.0.0.1:${(target.address() as AddressInfo).port}/`;
  });
  afterAll(async () => {
    target.close();
    await rm(dataDir, { recursive: true });
  });

  const results = (service: RunningService, checkId: string, query = '') =>
    service.api<Result[]>('GET', `/v1/check-results/${checkId}${query}`);

  it('schedules, runs and reports checks, retries failures, and keeps everything over a restart', {
    timeout: 120_000,
  }, async () => {
    const ids = { passing: '', failing: '' };
    let finalsBefore = 0;
    {
      await using service = await startServiceProcess({ DATA_DIR: dataDir });
      const location = await createLocation(service, 'ring');
      const common = { frequency: 0, frequencyOffset: 10, privateLocations: [location.slugName] };
      ids.passing = (
        await service.api<{ id: string }>('POST', '/v1/checks/api', {
          ...common,
          name: 'passes',
          request: {
            url: targetUrl,
            assertions: [
              { source: 'JSON_BODY', property: '$.items.length', comparison: 'EQUALS', target: '3' },
            ],
          },
        })
      ).id;
      ids.failing = (
        await service.api<{ id: string }>('POST', '/v1/checks/url', {
          ...common,
          name: 'fails',
          retryStrategy: { type: 'FIXED', baseBackoffSeconds: 0, maxRetries: 2 },
          request: {
            url: targetUrl,
            assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '204' }],
          },
        })
      ).id;
      await using agent = await startAgentProcess({ serviceUrl: service.url, key: location.key });
      await until(
        'both checks have a FINAL',
        async () => {
          const [passing, failing] = await Promise.all([
            results(service, ids.passing),
            results(service, ids.failing),
          ]);
          return passing.length > 0 && failing.length > 0;
        },
        { timeoutMs: 40_000, process: agent.process },
      );

      const [passed] = await results(service, ids.passing);
      expect(passed).toMatchObject({
        resultType: 'FINAL',
        hasFailures: false,
        hasErrors: false,
        runLocation: 'ring',
        attempts: 0,
      });
      expect(passed?.apiCheckResult?.response.status).toBe(200);
      expect(passed?.apiCheckResult?.assertions).toMatchObject([{ error: null }]);
      expect(passed?.responseTime).toBeGreaterThan(0);

      const [failed] = await results(service, ids.failing);
      expect(failed).toMatchObject({
        hasFailures: true,
        hasErrors: false,
        attempts: 2,
        failure: { owner: 'target', code: 'ASSERTION_FAILED' },
      });
      const all = await results(service, ids.failing, '?resultType=ALL&limit=100');
      const sequence = all.filter(({ sequenceId }) => sequenceId === failed?.sequenceId);
      expect(sequence.map(({ resultType, attempts }) => [resultType, attempts])).toEqual([
        ['FINAL', 2],
        ['ATTEMPT', 1],
        ['ATTEMPT', 0],
      ]);

      const status = await service.api('GET', `/v1/check-statuses/${ids.failing}`);
      expect(status).toMatchObject({ name: 'fails', hasFailures: true, lastRunLocation: 'ring' });
      const seen = await service.api('GET', `/v1/private-locations/${location.id}`);
      expect(seen).toMatchObject({ agentCount: 1, runningAgents: [{ count: 1, isOutdated: false }] });

      expect(await agent.process.kill('SIGTERM')).toEqual({ code: 0, signal: null });
      // As if a terminal and a wrapper signal at the same time.
      service.process.child.kill('SIGINT');
      expect(await service.process.kill('SIGTERM')).toEqual({ code: 0, signal: null });
      finalsBefore = readLedger(dataDir).reduce((sum, { finals }) => sum + finals, 0);
    }

    await using service = await startServiceProcess({ DATA_DIR: dataDir });
    expect((await results(service, ids.passing)).length).toBeGreaterThan(0);
    const ledger = readLedger(dataDir);
    expect(ledger.reduce((sum, { finals }) => sum + finals, 0)).toBe(finalsBefore);
    expect(ledger.filter(({ finals }) => finals > 1)).toEqual([]);
  });
});
