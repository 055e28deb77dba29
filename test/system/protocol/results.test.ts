import { describe, expect, it } from 'vitest';
import type { ResultReport } from '../../../src/protocol/agent/agent.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { sampleOf } from '../../helpers/night.ts';

const resultsOf = (body: Record<string, unknown>) => body.results as ResultReport[];

describe('reporting', () => {
  it('repeats an upload whose response was lost; the service recognizes the result by its id', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    service.script = (call, index) =>
      call.name === 'results' && index === 0 ? { isAnswerLost: true } : undefined;
    const agent = await stage.connectedAgent();
    const run = leasedRun(target.url());
    service.enqueue(run);
    await service.waitFor('the receipt of the repetition', () => service.receipts.length === 2);
    expect(service.receipts.map(({ status }) => status)).toEqual(['accepted', 'duplicate']);
    expect(service.results).toHaveLength(1);
    expect(target.requests).toHaveLength(1);
    // No result is left to send or hold.
    agent.signal('SIGTERM');
    expect(await agent.exited).toEqual({ code: 0, signal: null });
  });

  const faults = [
    ['500', { statusCode: 500 }],
    ['503', { statusCode: 503 }],
    ['429 with Retry-After', { statusCode: 429, headers: { 'retry-after': '1' } }],
    ['a reset connection', { isReset: true }],
    ['an answer that is not JSON', { bodyText: '<html>' }],
    ['too few receipts', { change: (answer: Record<string, unknown>) => ({ ...answer, items: [] }) }],
  ] as const;
  it.each(sampleOf(faults, 3))('keeps a result through %s', async (_name, behaviour) => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    service.script = (call, index) => (call.name === 'results' && index < 2 ? behaviour : undefined);
    await stage.connectedAgent();
    const run = leasedRun(target.url());
    service.enqueue(run);
    await service.waitFor(
      'the result',
      () => service.callsOf('results').length === 3 && service.resultOf(run.runId),
    );
    expect(service.results).toHaveLength(1);
  });

  it('lists secrets that are too short to be masked, and keeps results readable', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    const agent = await stage.connectedAgent({ SERVICE_SECRET_PIN: '200' });
    const run = leasedRun(target.url(), {
      variables: { FLAG: 'true', ONE: '1', LONG: 'long enough' },
      secretNames: ['FLAG', 'ONE', 'LONG'],
    });
    service.enqueue(run);
    const result = await service.waitFor('the result', () => service.resultOf(run.runId));
    expect(result).toMatchObject({ failure: null, detail: { response: { status: 200 } } });
    expect(JSON.stringify(result)).not.toContain('***');
    for (const name of ['SERVICE_SECRET_PIN', 'FLAG', 'ONE']) {
      const line = agent.logLines.find(({ variable }) => variable === name);
      expect(line?.msg).toContain('is not masked in results: its value is shorter than 6 characters');
    }
    expect(agent.logLines.some(({ variable }) => variable === 'LONG')).toBe(false);
  });

  it('finds the only invalid result of a batch; the others arrive', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    const runs = Array.from({ length: 20 }, (_, index) => leasedRun(target.url(`/hold/${index}`)));
    const bad = runs[13];
    service.script = (call) =>
      call.name === 'results' && resultsOf(call.body).some(({ runId }) => runId === bad?.runId)
        ? { statusCode: 400 }
        : undefined;
    const agent = await stage.connectedAgent();
    service.enqueue(...runs);
    await service.waitFor('all runs under way', () => target.heldCount === 20);
    target.releaseAll();
    await service.waitFor('19 results', () => service.results.length === 19);
    expect(await agent.logged('result permanently rejected by the service')).toMatchObject({
      runId: bad?.runId,
    });
    const metrics = (await agent.get('/metrics')).body;
    expect(metrics).toContain('picket_agent_results_total{settlement="quarantined"} 1');
    expect(metrics).toContain('picket_agent_held_leases 0');
  });

  it('sends a result that is too large without its detail, with a note', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    service.script = (call) =>
      call.name === 'results' && resultsOf(call.body).some(({ detail }) => detail !== null)
        ? { statusCode: 413 }
        : undefined;
    await stage.connectedAgent();
    const run = leasedRun(target.url());
    service.enqueue(run);
    const result = await service.waitFor('the result', () => service.resultOf(run.runId));
    expect(result).toMatchObject({ failure: null, detail: null, resultId: run.resultId });
    expect(result.errorMessages).toEqual([expect.stringContaining('rejected the detail')]);
  });

  it('counts and logs rejected results, and keeps none', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    service.script = (call) =>
      call.name === 'results'
        ? {
            change: (answer) => ({
              ...answer,
              items: [{ resultId: null, status: 'rejected', reason: 'detail.x is wrong' }],
            }),
          }
        : undefined;
    const agent = await stage.connectedAgent();
    service.enqueue(leasedRun(target.url()));
    expect(await agent.logged('result permanently rejected by the service and lost')).toMatchObject({
      reason: 'detail.x is wrong',
    });
    expect((await agent.get('/metrics')).body).toContain(
      'picket_agent_results_total{settlement="rejected"} 1',
    );
  });

  it('sends a result whose detail is rejected again without it: the verdict is not lost', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    service.script = (call) => {
      if (call.name !== 'results' || resultsOf(call.body).every(({ detail }) => detail === null))
        return undefined;
      return {
        change: (answer) => ({
          ...answer,
          items: (answer.items as object[]).map((item) => ({
            ...item,
            status: 'rejected',
            reason: 'detail.x',
          })),
        }),
      };
    };
    await stage.connectedAgent();
    const run = leasedRun(target.url());
    service.enqueue(run);
    const second = await service.waitFor('the second upload', () => service.callsOf('results')[1]);
    const [report] = resultsOf(second.body);
    expect(report).toMatchObject({ runId: run.runId, detail: null, failure: null });
    expect(report?.errorMessages).toEqual([expect.stringContaining('rejected the detail')]);
  });
});
