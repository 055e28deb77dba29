import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createLocation,
  type RunningService,
  startAgentProcess,
  startServiceProcess,
  until,
} from '../../helpers/picket-process.ts';

interface Session {
  readonly status: string;
  readonly results: readonly {
    readonly hasErrors: boolean;
    readonly hasFailures: boolean;
    readonly checkResultId?: string;
    readonly checkId: string;
  }[];
}

describe('on-demand runs: a real service, a real agent, a real target', () => {
  const asked: string[] = [];
  const target = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end('ok');
  });
  let service: RunningService;
  let targetUrl: string;
  let location: { slugName: string; key: string };

  beforeAll(async () => {
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
    targetUrl = `http://127.0.0.1:${(target.address() as AddressInfo).port}`;
    service = await startServiceProcess();
    location = await createLocation(service, 'lab');
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    target.close();
  });

  it('runs a check at once, runs a definition with CI=true, and reports what an agentic check lacks', {
    timeout: 240_000,
  }, async () => {
    await using _agent = await startAgentProcess({ serviceUrl: service.url, key: location.key });
    const create = async (route: string, fields: object) => {
      const common = { name: route, frequency: 1440, privateLocations: ['lab'], locations: [] };
      return (await service.api<{ id: string }>('POST', `/v1/checks/${route}`, { ...common, ...fields })).id;
    };
    const path = '/run?service={{SERVICE}}&host={{HOST}}';
    const plain = await create('url', {
      request: { url: `${targetUrl}${path}` },
      environmentVariables: [{ key: 'HOST', value: 'own' }],
    });
    const onlyInTests = await create('api', { request: { url: `${targetUrl}/ci={{CI}}` } });
    const agentic = await create('agentic', { prompt: 'Buy a hat.' });

    const run = async (checkId: string) => {
      const { sessions } = await service.api<{ sessions: { checkSessionId: string }[] }>(
        'POST',
        '/v1/check-sessions/trigger',
        { target: { checkId } },
      );
      return service.api<Session>('GET', `/v1/check-sessions/${sessions[0]?.checkSessionId}/completion`);
    };
    expect(await run(plain)).toMatchObject({ status: 'PASSED', results: [{ hasFailures: false }] });
    expect(asked).toEqual(['/run?service=1&host=own']);

    expect(await service.api('GET', `/v1/checks/${agentic}`)).toMatchObject({
      warnings: [{ code: 'UNSUPPORTED', message: expect.stringContaining('MODEL_URL') }],
    });

    const test = await service.api<{ testSessionId: string }>('POST', '/v1/test-sessions/trigger', {
      name: 'try',
      runLocation: 'lab',
      target: { checkId: [plain, onlyInTests] },
      environmentVariables: [{ key: 'HOST', value: 'preview' }],
    });
    const done = await service.api<Session>('GET', `/v1/test-sessions/${test.testSessionId}/completion`);
    expect(done.status).toBe('PASSED');
    expect(asked.slice(1).sort()).toEqual(['/ci=true', '/run?service=1&host=preview']);
    // Outside a test session CI is not set.
    expect(await run(onlyInTests)).toMatchObject({ status: 'PASSED' });
    expect(asked.slice(3)).toEqual(['/ci=']);
  });

  it('accepts pings with any body, or none, from every caller that knows the URL', async () => {
    const { id, heartbeat } = await service.api<{ id: string; heartbeat: { pingUrl: string } }>(
      'POST',
      '/v1/checks/heartbeat',
      { name: 'backup', heartbeat: { period: 1, periodUnit: 'days', grace: 1, graceUnit: 'hours' } },
    );
    const url = heartbeat.pingUrl;
    const form = new URLSearchParams({ status: 'done' });
    const statuses = await Promise.all(
      [
        fetch(url),
        fetch(url, { method: 'HEAD' }),
        fetch(url, { method: 'POST' }),
        fetch(url, { method: 'POST', body: form }),
        fetch(url, { method: 'POST', body: '{broken', headers: { 'content-type': 'application/json' } }),
        fetch(url, { method: 'POST', body: Buffer.alloc(3_000_000) }),
      ].map(async (answer) => (await answer).status),
    );
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200]);
    for (const method of ['PUT', 'DELETE', 'PATCH']) {
      const refused = await fetch(url, { method });
      expect([method, refused.status]).toEqual([method, 405]);
      expect(refused.headers.get('allow')).toBe('GET, POST, HEAD');
    }
    await until('all are recorded', async () => {
      const availability = await service.api('GET', `/v1/checks/heartbeats/${id}/availability`);
      return availability.totalEntitiesCurrentPeriod === 6;
    });
    expect((await fetch(`${url.slice(0, -4)}0000`)).status).toBe(404);
    expect((await fetch(url.slice(0, -4))).status).toBe(400);
  });
});
