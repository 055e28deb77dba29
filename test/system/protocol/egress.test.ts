import { describe, expect, it } from 'vitest';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';

/** The failure that an agent with those settings reports for a URL. */
async function failureFor(
  stage: Stage,
  url: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const agent = await stage.connectedAgent(settings);
  const { port } = await agent.logged('agent starts');
  const run = leasedRun(url.replace('HEALTH_PORT', String(port)));
  stage.service.enqueue(run);
  const { failure } = await stage.service.waitFor('the result', () => stage.service.resultOf(run.runId));
  return failure;
}

describe('the addresses that checks of an agent may connect to', () => {
  it('exclude its own health port', async () => {
    await using stage = await Stage.open();
    expect(await failureFor(stage, 'http://localhost:HEALTH_PORT/health')).toMatchObject({
      code: 'EGRESS_DENIED',
      owner: 'config',
      message: expect.stringContaining("the agent's own"),
    });
  });

  it('follow EGRESS_DENY and EGRESS_ALLOW', async () => {
    await using stage = await Stage.open();
    const denied = await failureFor(stage, stage.target.url('/'), { EGRESS_DENY: '127.0.0.0/8' });
    expect(denied).toMatchObject({
      code: 'EGRESS_DENIED',
      message: expect.stringContaining('127.0.0.0/8 of EGRESS_DENY'),
    });
  });

  it('include those in EGRESS_ALLOW', async () => {
    await using stage = await Stage.open();
    const settings = { EGRESS_DENY: '*', EGRESS_ALLOW: '127.0.0.1' };
    expect(await failureFor(stage, stage.target.url('/'), settings)).toBeNull();
  });
});
