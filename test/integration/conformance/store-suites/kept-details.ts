import { afterEach, expect, it } from 'vitest';
import { failure } from '../../../../src/checks/contract/failure.ts';
import { Analyst } from '../../../../src/service/analyses/analyst.ts';
import type { CountedResultRow } from '../../../../src/service/results/tables.ts';
import { createCheck, quietLogger, reportOf } from '../../../helpers/service/service.ts';
import { httpDetail, resultRow } from './result-samples.ts';
import type { StoreStage } from './stage.ts';

/** Details of results: stored compressed, and omitted if the service is configured to. */
export function keptDetailSuite(stage: StoreStage): void {
  afterEach(() => {
    stage.everyNthPass = undefined;
  });
  const refused = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED 10.0.0.5:8443');
  const create = () =>
    createCheck(stage.harness, { privateLocations: ['lab'], doubleCheck: false, retryStrategy: null });
  const leased = async (checkId: string) => {
    await stage.queueNextSlot(checkId);
    const run = (await stage.agent.claim()).find(({ check }) => check.id === checkId);
    if (!run) throw new Error('nothing was leased');
    return run;
  };
  const run = async (checkId: string, failed?: typeof refused) => {
    const one = await leased(checkId);
    const detail = httpDetail(200, { wait: 1, dns: 2, tcp: 3 });
    const fields = failed ? { failure: failed, errorMessages: [failed.message] } : {};
    expect(await stage.agent.report([reportOf(one, { detail, ...fields })])).toEqual(['accepted']);
    const { body } = await stage.harness.call('GET', `/v1/check-results/${checkId}/${one.resultId}`);
    return body;
  };

  it('shows details as reported, of any length, in lists and alone, and those of older builds', async () => {
    await stage.start();
    const { store, accountId } = stage.harness;
    const check = await create();
    const long = { ...httpDetail(200, {}), requestError: 'é\u2028"\\ 😀'.repeat(9_000) };
    const details = [long, httpDetail(204, {}), { old: 'kept as JSON' }, null];
    const now = stage.clock.wallMs();
    const rows = details.map((detail, index) => ({
      ...resultRow(check.id, accountId, now - index, {}),
      detail: detail && JSON.stringify(detail),
    }));
    await store.results.insert(rows);
    const { body } = await stage.harness.call('GET', `/v1/check-results/${check.id}`);
    const shown = body as { id: string; apiCheckResult: unknown; isDetailLeftOut: boolean }[];
    expect(shown.map((one) => one.apiCheckResult)).toEqual(details);
    expect(shown.map((one) => one.isDetailLeftOut)).toEqual([false, false, false, false]);
    for (const [index, { id }] of rows.entries()) {
      expect((await store.results.find(check.id, id))?.detail).toBe(rows[index]?.detail);
    }
    const facts = await store.analysisEvidence.runs(
      'results',
      rows.map(({ id }) => id),
    );
    expect(facts.map(({ detail }) => detail)).toEqual(details);
  });

  it('keeps the details of failures, changes and every n-th pass, and the numbers of all', async () => {
    stage.everyNthPass = 3;
    await stage.start();
    const check = await create();
    const kept: boolean[] = [];
    for (const failed of [undefined, undefined, undefined, undefined, refused, undefined, undefined]) {
      const { isDetailLeftOut, apiCheckResult } = await run(check.id, failed);
      expect(apiCheckResult === null).toBe(isDetailLeftOut);
      kept.push(!isDetailLeftOut);
    }
    expect(kept).toEqual([true, false, false, true, true, true, false]);
    const rows = await stage.harness.store.results.behind(
      { checkId: check.id, from: 0, to: stage.clock.wallMs() + 1, resultType: 'ALL' },
      undefined,
      100,
    );
    for (const row of rows) expect((row as CountedResultRow).measured).toContain('"dns":2');
  });

  it('keeps those of on-demand runs', async () => {
    stage.everyNthPass = 100;
    await stage.start();
    const check = await create();
    expect(await run(check.id)).toMatchObject({ isDetailLeftOut: false });
    expect(await run(check.id)).toMatchObject({ isDetailLeftOut: true });
    await stage.harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId: [check.id] } });
    const [asked] = await stage.agent.claim();
    if (!asked) throw new Error('nothing was leased');
    await stage.agent.report([reportOf(asked, { detail: httpDetail(200, { wait: 1, dns: 2, tcp: 3 }) })]);
    const { body } = await stage.harness.call('GET', `/v1/check-results/${check.id}/${asked.resultId}`);
    expect(body).toMatchObject({ isDetailLeftOut: false, apiCheckResult: { response: { status: 200 } } });
  });

  it('compares an error with the last pass that has a detail', async () => {
    stage.everyNthPass = 100;
    await stage.start();
    const { store } = stage.harness;
    const check = await create();
    const whole = await run(check.id);
    for (let index = 0; index < 25; index += 1) await run(check.id);
    const failed = await run(check.id, refused);
    const between = { from: 0, to: stage.clock.wallMs() + 1 };
    expect((await store.results.lastWholePass(check.id, 'lab', between))?.id).toBe(whole.id);
    const asked = { limit: 20, areWhole: true };
    const all = { after: 0, before: stage.clock.wallMs() + 1 };
    expect(
      (await store.analysisEvidence.passes('results', check.id, all, asked)).map(({ id }) => id),
    ).toEqual([whole.id]);
    const metrics = { countAnalysis: () => undefined };
    await new Analyst({ store, clock: stage.clock, logger: quietLogger, metrics }).turn();
    const [groupId] = failed.errorGroupIds as string[];
    const { body } = await stage.harness.call('GET', `/v1/error-groups/${groupId}`);
    expect(body.rootCauseAnalyses[0].analysis.rootCause).toContain(`one did at ${whole.startedAt}`);
  });
}
