import { expect, it } from 'vitest';
import { reportOf } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

/**
 * Plans of agentic checks: a passing run stores a new version, later runs receive it, and it is deleted with its check.
 */
export function checkPlanSuite(stage: StoreStage): void {
  const prompt = 'Open http://shop.test and see "Tea".';
  const content = (title: string) => ({
    prompt,
    model: 'scripted',
    steps: [
      {
        tool: 'assert',
        input: { condition: 'It is there', subject: 'title', comparison: 'EQUALS', expected: title },
      },
    ],
  });
  const detail = (origin: string, fresh: unknown) => ({
    ...{ summary: 'done', prompt, assertions: [], suggestions: [], steps: [], errors: [] },
    ...{ artifactManifest: {}, plan: { origin, version: null, fresh } },
  });
  const run = async (checkId: string, fields: object) => {
    await stage.queueNextSlot(checkId);
    const leased = (
      await stage.agent.claim({ checkTypes: ['AGENTIC'], freeSlots: { probe: 0, script: 10 } })
    ).find(({ check }) => check.id === checkId);
    if (!leased) throw new Error('nothing was leased');
    expect(await stage.agent.report([reportOf(leased, fields)])).toEqual(['accepted']);
    return leased;
  };
  const create = async () => {
    const place = { frequency: 5, locations: [], privateLocations: ['lab'] };
    const answer = await stage.harness.call('POST', '/v1/checks/agentic', { name: 'tea', prompt, ...place });
    expect(answer.status).toBe(201);
    return answer.body as { id: string };
  };
  const plansOf = async (checkId: string) => {
    const { body } = await stage.harness.call('GET', `/v1/checks/${checkId}/plans`);
    return body as { version: number; reason: string; checkResultId: string; content: unknown }[];
  };

  it('keeps the plans of passing runs in versions, and sends the last one with runs', async () => {
    await stage.start();
    const check = await create();
    expect(await plansOf(check.id)).toEqual([]);
    const first = await run(check.id, { detail: detail('found', content('Tea')) });
    expect(first.plan).toBeNull();
    expect(await plansOf(check.id)).toMatchObject([
      { version: 1, reason: 'found', checkResultId: first.resultId, content: content('Tea') },
    ]);
    // An equal plan is not a new version, and neither is one of a failed run.
    const second = await run(check.id, { detail: detail('found', content('Tea')) });
    expect(second.plan).toEqual({ version: 1, content: content('Tea') });
    const failure = { owner: 'target', code: 'STEP_FAILED', message: 'gone' };
    await run(check.id, { failure, errorMessages: ['gone'], detail: detail('healed', content('Coffee')) });
    await run(check.id, { detail: detail('replayed', null) });
    expect(await plansOf(check.id)).toHaveLength(1);
    await run(check.id, { detail: detail('healed', content('Green tea')) });
    expect((await plansOf(check.id)).map(({ version, reason }) => [version, reason])).toEqual([
      [2, 'healed'],
      [1, 'found'],
    ]);
    expect((await run(check.id, { detail: detail('replayed', null) })).plan).toEqual({
      version: 2,
      content: content('Green tea'),
    });
  });

  it('accepts an older version as the newest, unless it belongs to another prompt', async () => {
    await stage.start();
    const check = await create();
    await run(check.id, { detail: detail('found', content('Tea')) });
    await run(check.id, { detail: detail('healed', content('Green tea')) });
    const path = `/v1/checks/${check.id}/plans`;
    const restored = await stage.harness.call('POST', path, { version: 1 });
    expect([restored.status, restored.body]).toMatchObject([
      201,
      { version: 3, reason: 'restored', content: content('Tea') },
    ]);
    expect((await plansOf(check.id)).map(({ version }) => version)).toEqual([3, 2, 1]);
    expect((await run(check.id, { detail: detail('replayed', null) })).plan).toEqual({
      version: 3,
      content: content('Tea'),
    });
    // The newest version stays the newest.
    expect((await stage.harness.call('POST', path, { version: 3 })).body.version).toBe(3);
    expect((await stage.harness.call('POST', path, { version: 9 })).status).toBe(404);
    expect((await stage.harness.call('POST', path, { version: 0 })).status).toBe(400);
    const entries = (await stage.harness.call('GET', '/v1/audit-log')).body;
    expect(JSON.stringify(entries)).toContain('restoreCheckPlan');
    const changed = await stage.harness.call('PUT', `/v1/checks/agentic/${check.id}`, {
      prompt: 'Something else',
    });
    expect(changed.status).toBe(200);
    expect((await stage.harness.call('POST', path, { version: 1 })).status).toBe(409);
    const stranger = await stage.harness.addAccount();
    expect((await stage.harness.call('POST', path, { version: 1 }, { key: stranger.key })).status).toBe(404);
  });

  it('forgets plans on request, and with their check', async () => {
    await stage.start();
    const [check, other] = [await create(), await create()];
    for (const { id } of [check, other]) await run(id, { detail: detail('found', content('Tea')) });
    expect(await stage.harness.call('DELETE', `/v1/checks/${check.id}/plans`)).toMatchObject({
      status: 204,
    });
    expect(await plansOf(check.id)).toEqual([]);
    expect(await plansOf(other.id)).toHaveLength(1);
    expect((await run(check.id, { detail: detail('found', content('Tea')) })).plan).toBeNull();
    await stage.harness.call('DELETE', `/v1/checks/${other.id}`);
    expect(await stage.harness.call('GET', `/v1/checks/${other.id}/plans`)).toMatchObject({
      status: 404,
    });
    expect(await stage.harness.store.plans.ofCheck(other.id)).toEqual([]);
  });
}
