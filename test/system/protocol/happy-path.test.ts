import { describe, expect, it } from 'vitest';
import { ClaimRequest, ResultReport } from '../../../src/protocol/agent/agent.ts';
import { AgentProcess } from '../../helpers/agent/agent-process.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';

describe('an agent and a healthy service', () => {
  it('claims, runs and reports, and shows its state on its health port', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    const agent = await stage.connectedAgent({ PROBE_CONCURRENCY: '7', AGENT_ID: 'agent-one' });

    const run = leasedRun(target.url('/page'));
    service.enqueue(run);
    const result = await service.waitFor('the result', () => service.resultOf(run.runId));
    expect(ResultReport.safeParse(result).error).toBeUndefined();
    expect(result).toMatchObject({
      resultId: run.resultId,
      leaseNumber: 1,
      failure: null,
      isDegraded: false,
    });
    expect(result.detail).toMatchObject({ response: { status: 200, body: 'ok' } });
    expect(service.receipts.map(({ status }) => status)).toEqual(['accepted']);

    const claim = ClaimRequest.parse(service.callsOf('claim')[0]?.body);
    expect(claim).toMatchObject({ agentId: 'agent-one', checkTypes: expect.arrayContaining(['URL', 'API']) });
    expect(Object.keys(claim.unavailable).filter((name) => claim.checkTypes.includes(name))).toEqual([]);
    expect(claim.freeSlots).toEqual({ probe: 7, script: 0 });
    expect(service.calls[0]?.headers.authorization).toBe('Bearer pl_0123456789abcdef');

    expect(await agent.get('/-/readiness')).toMatchObject({ status: 200 });
    expect(await agent.get('/-/liveness')).toMatchObject({ status: 200 });
    const health = await agent.get('/health');
    expect(health.status).toBe(200);
    expect(JSON.parse(health.body)).toMatchObject({
      agentId: 'agent-one',
      isReady: true,
      heldLeases: 0,
      lanes: { probe: { size: 7, running: 0, queued: 0 } },
      spool: { mode: 'disk', results: 0, inMemoryOnly: 0 },
      capabilities: { backends: claim.backends, unavailable: claim.unavailable },
      probeThreads: { gate: { waiting: 0, oldestWaitMs: 0 } },
    });
    const metrics = (await agent.get('/metrics')).body;
    expect(metrics).toContain('picket_agent_runs_total{check_type="URL",verdict="passed"} 1');
    expect(metrics).toContain('picket_agent_results_total{settlement="accepted"} 1');
    expect(metrics).toContain('picket_agent_lateness_seconds_count 1');
    expect(metrics).toContain('picket_agent_connected 1');
    expect(metrics).toContain('picket_agent_check_type_info{check_type="URL",available="true",backend=""} 1');
    const icmp = claim.backends.ICMP;
    if (icmp === undefined) expect(claim.unavailable.ICMP).toMatch(/ICMP is unavailable on this host/);
    else expect(metrics).toContain(`{check_type="ICMP",available="true",backend="${icmp}"} 1`);
    expect(metrics).toContain('picket_agent_gate_waiting 0');
    expect(metrics).toContain('picket_agent_suite_packages_hits_total 0');
    expect(metrics).toContain('picket_agent_gate_oldest_waiting_seconds 0');
    expect(metrics).toMatch(/picket_agent_probe_thread_utilization\{thread="0"\} [\d.e-]+/);
    expect(await agent.get('/nothing')).toMatchObject({ status: 404 });
    expect(await agent.get('/health', 'POST')).toMatchObject({ status: 405 });
  });

  it('runs many checks of one claim and sends their results in fewer calls', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    await stage.connectedAgent();
    const runs = Array.from({ length: 80 }, (_, index) => leasedRun(target.url(`/${index}`)));
    service.enqueue(...runs);
    await service.waitFor('80 results', () => service.results.length === 80);
    expect(new Set(service.results.map(({ runId }) => runId))).toEqual(
      new Set(runs.map(({ runId }) => runId)),
    );
    expect(service.callsOf('results').length).toBeLessThan(runs.length);
  });

  it('reports a sick target as a failure of the target', async () => {
    await using stage = await Stage.open();
    await stage.connectedAgent();
    const run = leasedRun('http://127.0.0.1:1/');
    stage.service.enqueue(run);
    const result = await stage.service.waitFor('the result', () => stage.service.resultOf(run.runId));
    expect(result.failure).toMatchObject({ owner: 'target', code: 'CONNECTION_REFUSED' });
  });

  it('lets checks use SERVICE_SECRET_* and never shows their values', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    const agent = await stage.connectedAgent({ SERVICE_SECRET_TOKEN: 'hunter2hunter2', LOG_LEVEL: 'trace' });
    const run = leasedRun(target.url('/?t={{SERVICE_SECRET_TOKEN}}&p={{PASS}}'), {
      variables: { PASS: 'correct horse' },
      secretNames: ['PASS'],
    });
    service.enqueue(run);
    await service.waitFor('the result', () => service.resultOf(run.runId));
    expect(target.requests).toEqual(['/?t=hunter2hunter2&p=correct%20horse']);
    const sent = service
      .callsOf('results')
      .map(({ bodyText }) => bodyText)
      .join();
    expect(sent).toContain('*********');
    expect(sent).not.toMatch(/hunter2|correct.{1,3}horse|pl_0123456789/);
    expect(agent.stdout).not.toMatch(/hunter2|correct.{1,3}horse|pl_0123456789/);
  });
});

describe('configuration', () => {
  it('lists all problems at once and ends with code 2', async () => {
    const agent = new AgentProcess({
      API_KEY: 'secret-without-prefix',
      SERVICE_URL: 'ftp://nowhere',
      AGENT_HEALTH_PORT: '99999',
      JOB_CONCURRENCY: '11',
      LOG_LEVEL: 'loud',
    });
    expect(await agent.exited).toEqual({ code: 2, signal: null });
    for (const name of ['API_KEY', 'SERVICE_URL', 'AGENT_HEALTH_PORT', 'JOB_CONCURRENCY', 'LOG_LEVEL']) {
      expect(agent.stderr).toContain(`- ${name}: must be`);
    }
    expect(agent.stderr).not.toContain('secret-without-prefix');
  });

  it('ends with code 2 when the health port is taken', async () => {
    await using stage = await Stage.open();
    const agent = stage.startAgent({ AGENT_HEALTH_PORT: String(stage.service.port) });
    expect(await agent.exited).toEqual({ code: 2, signal: null });
    expect(agent.stderr).toContain('EADDRINUSE');
  });
});
