import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { FakeService } from '../../helpers/agent/fake-service/fake-service.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { sampleOf } from '../../helpers/night.ts';

describe('an agent and a faulty service', () => {
  it('starts without a service, stays quiet, and connects when the service starts', async () => {
    await using stage = await Stage.open();
    const free = createServer();
    const port = await new Promise<number>((resolve) => {
      free.listen(0, '127.0.0.1', () => resolve((free.address() as { port: number }).port));
    });
    await new Promise((resolve) => free.close(resolve));
    const agent = stage.startAgent({ SERVICE_URL: `http://127.0.0.1:${port}` });
    await agent.logged('failed to claim work');
    expect(await agent.get('/-/liveness')).toMatchObject({ status: 200 });
    const readiness = await agent.get('/-/readiness');
    expect(readiness.status).toBe(503);
    expect(JSON.parse(readiness.body)).toMatchObject({
      ready: false,
      reason: expect.stringContaining('ECONNREFUSED'),
    });

    const service = new FakeService();
    await service.listen(port);
    await agent.logged('connected to the service');
    expect(await agent.get('/-/readiness')).toMatchObject({ status: 200 });
    await service.close();
  });

  it('returns after its long poll was reset, without losses or duplicates', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    const agent = await stage.connectedAgent();
    await service.waitFor('the long poll', () => service.callsOf('claim').length === 2);
    service.resetConnections();
    await agent.logged('failed to claim work');
    await service.waitFor('the next claim', () => service.callsOf('claim').length >= 3);
    const run = leasedRun(target.url());
    service.enqueue(run);
    await service.waitFor('the result', () => service.resultOf(run.runId));
    expect(target.requests).toHaveLength(1);
  });

  it('backs off from a failing service, instead of polling in a loop', async () => {
    await using stage = await Stage.open();
    const { service } = stage;
    service.script = () => ({ statusCode: 500 });
    stage.startAgent();
    const [first, fourth] = await service.waitFor('four claims', () => {
      const claims = service.callsOf('claim');
      return claims.length >= 4 && ([claims[0], claims[3]] as const);
    });
    // Three pauses of at least the floor of 50 ms each.
    expect((fourth?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThan(140);
  });

  it('resumes within one poll after its service responded with 404 for a while, without losses', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    const agent = await stage.connectedAgent();
    const run = leasedRun(target.url());
    // The response of a page that took over the service's host name.
    service.script = () => ({ statusCode: 404, bodyText: '<h1>This host has no such page.</h1>' });
    const before = service.callsOf('claim').length;
    service.resetConnections();
    await service.waitFor('claims that get 404', () => service.callsOf('claim').length >= before + 3);
    const waits = agent.logLines.flatMap(({ status, retryMs }) => (status === 404 ? [Number(retryMs)] : []));
    expect(waits.length).toBeGreaterThan(0);
    expect(Math.max(...waits)).toBeLessThanOrEqual(4000);
    service.script = () => undefined;
    service.enqueue(run);
    await service.waitFor('the result', () => service.resultOf(run.runId));
  });

  it('does not poll in a loop if a service ends long polls at once with empty responses', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    service.script = (call) =>
      call.name === 'claim' ? { change: (answer) => ({ ...answer, runs: [] }) } : undefined;
    stage.startAgent();
    const run = leasedRun(target.url());
    // The script removes the runs from the responses, so each run ends a long poll at once with an empty response.
    for (let count = 2; count <= 4; count++) {
      await service.waitFor(`claim ${count}`, () => service.callsOf('claim').length >= count);
      service.enqueue({ ...run, runId: crypto.randomUUID() });
    }
    const claims = service.callsOf('claim');
    expect((claims[3]?.atMs ?? 0) - (claims[2]?.atMs ?? 0)).toBeGreaterThan(900);
  });

  it('stops claiming when its key is revoked, reports it, and does not hammer the service', async () => {
    await using stage = await Stage.open();
    const { service } = stage;
    const agent = await stage.connectedAgent();
    await service.waitFor('the long poll', () => service.callsOf('claim').length === 2);
    service.script = () => ({ statusCode: 401 });
    service.resetConnections();
    const line = await agent.logged('location key refused; check API_KEY');
    expect(line).toMatchObject({ level: 'error', code: 'SERVICE_REFUSED', status: 401 });
    expect(Number(line.retryMs)).toBeGreaterThanOrEqual(5000);
    expect(await agent.get('/-/readiness')).toMatchObject({ status: 503 });
    expect(await agent.get('/-/liveness')).toMatchObject({ status: 200 });
    expect(agent.stdout).not.toContain('pl_0123456789abcdef');
  });

  it('learns of a revoked key from any call, while its long poll waits', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    service.leaseTtlMs = 1500;
    const agent = await stage.connectedAgent();
    service.script = (call) => (call.name === 'renew' ? { statusCode: 401 } : undefined);
    service.enqueue(leasedRun(target.url('/hold')));
    await agent.logged('location key refused');
    const poll = service.callsOf('claim').at(-1);
    await service.waitFor('the poll is given up', () => poll?.isAborted);
    expect(await agent.get('/-/readiness')).toMatchObject({ status: 503 });
  });

  it('honours Retry-After', async () => {
    await using stage = await Stage.open();
    const { service } = stage;
    service.script = (call, index) =>
      call.name === 'claim' && index === 0 ? { statusCode: 429, headers: { 'retry-after': '2' } } : undefined;
    await stage.connectedAgent();
    const [refused, next] = service.callsOf('claim');
    expect((next?.atMs ?? 0) - (refused?.atMs ?? 0)).toBeGreaterThanOrEqual(1990);
  });

  const answers = [
    ['text that is not JSON', 'not json'],
    ['truncated JSON', '{"serverTime": 1, "leaseTtl'],
    ['an answer of another shape', '{"hello": "world"}'],
    ['nesting without end', `{"serverTime":1,"leaseTtlMs":1,"runs":[${'['.repeat(200_000)}`],
    [
      'an answer larger than the limit',
      `{"serverTime":1,"leaseTtlMs":1,"runs":["${'x'.repeat(33 * 1024 * 1024)}"]}`,
    ],
  ] as const;
  it.each(sampleOf(answers, 3))('survives %s', async (_name, bodyText) => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    service.script = (call, index) => (call.name === 'claim' && index === 0 ? { bodyText } : undefined);
    const agent = await stage.connectedAgent();
    expect(await agent.logged('failed to claim work')).toMatchObject({ code: 'SERVICE_UNREACHABLE' });
    const run = leasedRun(target.url());
    service.enqueue(run);
    await service.waitFor('the result', () => service.resultOf(run.runId));
  });

  it('closes runs that it cannot parse as unsupported and runs the others', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    await stage.connectedAgent();
    const check = { id: 'a', name: 'a', checkType: 'TELEPATHY', spec: {} };
    const unknownType = leasedRun('', { check });
    const badField = leasedRun('', { check: { ...check, checkType: 'URL', spec: { request: { url: 7 } } } });
    const badShape = leasedRun('', { variables: 'none' as never });
    const good = leasedRun(target.url());
    service.enqueue(unknownType, badField, badShape, { garbage: true } as never, good);
    await service.waitFor('four results', () => service.results.length === 4);
    for (const run of [unknownType, badField, badShape]) {
      expect(service.resultOf(run.runId)?.failure).toMatchObject({
        owner: 'agent',
        code: 'CHECK_TYPE_UNSUPPORTED',
        message: expect.stringContaining('Upgrade the agent'),
      });
    }
    expect(service.resultOf(good.runId)?.failure).toBeNull();
  });

  it('uses a configured proxy', async () => {
    await using stage = await Stage.open();
    const { service } = stage;
    // The proxy is the service itself: requests in absolute form were meant for a proxy.
    const agent = stage.startAgent({
      SERVICE_URL: 'http://service.invalid',
      HTTP_PROXY: `http://user:opensesame@127.0.0.1:${service.port}`,
    });
    await agent.logged('connected to the service');
    expect(service.calls[0]?.headers.host).toBe('service.invalid');
    expect(agent.stdout).not.toContain('opensesame');
  });
});
