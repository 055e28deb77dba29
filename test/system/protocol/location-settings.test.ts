import { expect, it } from 'vitest';
import { noAgentSettings } from '../../../src/protocol/agent/agent-settings.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { until } from '../../helpers/picket-process.ts';

interface Claimed {
  readonly checkTypes: readonly string[];
  readonly freeSlots: { readonly probe: number };
  readonly settings: unknown;
}

it('an agent does less if its location asks for it, and never more than its environment allows', async () => {
  await using stage = await Stage.open();
  const { service } = stage;
  const claimed = () => service.callsOf('claim').at(-1)?.body as unknown as Claimed;
  const agent = await stage.connectedAgent({
    CHECK_TYPES: 'URL,TCP',
    PROBE_CONCURRENCY: '10',
    LOG_LEVEL: 'info',
  });
  await service.waitFor('a claim', () => claimed().checkTypes.length === 2);
  expect(claimed()).toMatchObject({
    freeSlots: { probe: 10 },
    settings: { logLevel: 'info', isDraining: false },
  });

  service.asked.change({
    ...noAgentSettings,
    checkTypes: ['URL', 'DNS'],
    probeConcurrency: 4,
    logLevel: 'error',
  });
  await service.waitFor('less', () => claimed().freeSlots.probe === 4);
  expect(claimed()).toMatchObject({
    checkTypes: ['URL'],
    settings: { logLevel: 'error', isDraining: false },
  });

  service.asked.change({ ...noAgentSettings, probeConcurrency: 1000, logLevel: 'trace' });
  await service.waitFor('all again', () => claimed().freeSlots.probe === 10);
  expect(claimed()).toMatchObject({ settings: { logLevel: 'info', isDraining: false } });
  // A level of a newer service is one that this agent does not know.
  service.asked.change({ ...noAgentSettings, logLevel: 'whispering' as 'info', probeConcurrency: 9 });
  await service.waitFor('the rest of it', () => claimed().freeSlots.probe === 9);
  expect(claimed()).toMatchObject({ settings: { logLevel: 'info' } });
  const { body } = await agent.get('/health');
  expect(JSON.parse(body)).toMatchObject({
    lanes: { probe: { size: 9 } },
    settings: { logLevel: 'info', isDraining: false },
  });
});

it('a drained agent finishes what it runs, takes nothing, stays connected, and goes on when it may', async () => {
  await using stage = await Stage.open();
  const { service, target } = stage;
  const agent = await stage.connectedAgent();
  const held = leasedRun(target.url('/hold'));
  service.enqueue(held);
  await service.waitFor('the run', () => target.heldCount === 1);
  service.asked.change({ ...noAgentSettings, isDraining: true });
  const isDrained = () => {
    const body = service.callsOf('claim').at(-1)?.body as unknown as Claimed | undefined;
    return body?.freeSlots.probe === 0 && (body.settings as { isDraining: boolean }).isDraining;
  };
  await service.waitFor('the drain', isDrained);
  const waiting = leasedRun(target.url());
  service.enqueue(waiting);
  target.releaseAll();
  await service.waitFor('its result', () => service.resultOf(held.runId));
  expect(await agent.get('/-/readiness')).toMatchObject({ status: 200 });
  expect((await agent.get('/metrics')).body).toContain('picket_agent_draining 1');
  expect(service.resultOf(waiting.runId)).toBeUndefined();

  service.asked.change(null);
  await service.waitFor('the waiting run', () => service.resultOf(waiting.runId));
  await until('it says so', async () =>
    (await agent.get('/metrics')).body.includes('picket_agent_draining 0'),
  );
});
