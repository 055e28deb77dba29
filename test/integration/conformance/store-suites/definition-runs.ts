import { expect, it } from 'vitest';
import { failure } from '../../../../src/checks/contract/failure.ts';
import { createCheck, reportOf } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

const runLocation = { type: 'PRIVATE', slugName: 'lab' };
const down = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED 10.0.0.5:80');
const job = {
  logicalId: 'home',
  checkType: 'URL',
  name: 'Home',
  frequency: 1,
  request: { url: 'http://target.test/' },
};

/** Definitions that are not stored checks, run through the ledger like other runs. */
export function definitionRunSuite(stage: StoreStage): void {
  const run = (body: object) =>
    stage.harness.call('POST', '/v1/test-sessions/run', { name: 'try', runLocation, ...body });
  const call = (path: string) => stage.harness.call('GET', `/v1/${path}`);

  it('runs a definition without a check, and keeps its result separate', async () => {
    await stage.start();
    const { status, body } = await run({
      checkRunJobs: [job, { ...job, logicalId: 'shop', name: 'Shop' }],
      environmentVariables: [{ key: 'STAGE', value: 'blue' }],
    });
    expect(status).toBe(202);
    expect(Object.keys(body.sequenceIds)).toEqual(['home', 'shop']);
    expect((await call(`test-sessions/scheduling/${body.schedulingId}/completion`)).body).toEqual({
      status: 'SUCCEEDED',
      error: null,
    });
    const runs = await stage.agent.claim();
    expect(runs.map(({ check }) => check.name).sort()).toEqual(['Home', 'Shop']);
    expect(runs[0]).toMatchObject({ isTestSession: true, mayBeRetried: false, variables: { STAGE: 'blue' } });
    // Neither is retried: the request contains no retries, whatever the definition's default is.
    await stage.agent.report(
      runs.map((one) => reportOf(one, { failure: down, errorMessages: [down.message] })),
    );
    const session = (await call(`test-sessions/${body.testSessionId}`)).body;
    expect(session).toMatchObject({ status: 'FAILED', runLocation: 'lab' });
    expect(session.results.map(({ name }: { name: string }) => name).sort()).toEqual(['Home', 'Shop']);
    const path = `test-sessions/${body.testSessionId}/results/${body.testResultIds.home}`;
    expect((await call(path)).body).toMatchObject({ name: 'Home', hasFailures: true, resultType: 'FINAL' });
    expect((await call('checks')).body).toEqual([]);
  });

  it('keeps the verdict of a session whose check and results are deleted', async () => {
    await stage.start();
    const { harness, agent } = stage;
    const { id } = await createCheck(harness, { frequency: 1440 });
    const { body } = await harness.call('POST', '/v1/test-sessions/trigger', {
      name: 'try',
      runLocation: 'lab',
      target: { checkId: id },
      retryStrategy: null,
    });
    const [leased] = await agent.claim();
    if (leased) await agent.report([reportOf(leased, { failure: down, errorMessages: [down.message] })]);
    const status = async () => (await call(`test-sessions/${body.testSessionId}`)).body.status;
    expect(await status()).toBe('FAILED');
    await harness.call('DELETE', `/v1/checks/${id}`);
    await harness.store.retired.removeResults('test_results', [leased?.resultId ?? '']);
    expect(await status()).toBe('FAILED');
    expect((await call('test-sessions?statuses=FAILED')).body.length).toBe(1);
  });

  it('retries a failed run as requested', async () => {
    await stage.start();
    const testRetryStrategy = { type: 'FIXED', baseBackoffSeconds: 0, maxRetries: 1 };
    const { body } = await run({ checkRunJobs: [{ ...job, testRetryStrategy }] });
    const [first] = await stage.agent.claim();
    if (first) await stage.agent.report([reportOf(first, { failure: down, errorMessages: [] })]);
    const [second] = await stage.agent.claim();
    expect(second).toMatchObject({ attempt: 1 });
    if (second) await stage.agent.report([reportOf(second)]);
    expect((await call(`test-sessions/${body.testSessionId}`)).body.status).toBe('PASSED');
  });

  it('applies the settings of a group, and hidden values of its check', async () => {
    await stage.start();
    const environmentVariables = [{ key: 'PASSWORD', value: 'swordfish', locked: true }];
    const check = await createCheck(stage.harness, {
      privateLocations: ['lab'],
      environmentVariables,
      activated: false,
    });
    const shown = [{ key: 'PASSWORD', value: '', locked: true }];
    const group = {
      name: 'g',
      environmentVariables: [{ key: 'FROM_GROUP', value: 'yes' }],
      retryStrategy: 'FALLBACK',
    };
    await run({ checkRunJobs: [{ ...job, checkId: check.id, environmentVariables: shown, group }] });
    const [leased] = await stage.agent.claim();
    expect(leased).toMatchObject({
      variables: { PASSWORD: 'swordfish', FROM_GROUP: 'yes' },
      secretNames: ['PASSWORD'],
    });
  });

  it('refuses definitions that cannot run, and names the reason', async () => {
    await stage.start();
    const keysOf = async (body: object) => {
      const answer = await run(body);
      expect(answer.status, JSON.stringify(answer.body)).toBe(400);
      return answer.body.validation.keys;
    };
    const other = { type: 'PRIVATE', slugName: 'mars' };
    expect(await keysOf({ checkRunJobs: [job], runLocation: other })).toEqual(['runLocation.slugName']);
    expect(await keysOf({ checkRunJobs: [job, job] })).toEqual(['checkRunJobs.1.logicalId']);
    expect(await keysOf({ checkRunJobs: [{ ...job, request: { url: 'x' } }] })).toEqual([
      'checkRunJobs.0.request.url',
    ]);
    expect(await keysOf({ checkRunJobs: [{ ...job, groupId: 4711 }] })).toEqual(['checkRunJobs.0.groupId']);
    expect(await keysOf({ checkRunJobs: [{ ...job, checkId: crypto.randomUUID() }] })).toEqual([
      'checkRunJobs.0.checkId',
    ]);
    expect(await keysOf({ checkRunJobs: [{ ...job, checkType: 'HEARTBEAT' }] })).toEqual([
      'checkRunJobs.0.checkType',
    ]);
    expect(await keysOf({ checkRunJobs: [{ ...job, wat: 1 }] })).toEqual(['checkRunJobs.0.wat']);
    const script = { ...job, checkType: 'BROWSER', script: 'x', request: undefined };
    expect(await keysOf({ checkRunJobs: [{ ...script, dependencies: [3] }] })).toEqual([
      'checkRunJobs.0.dependencies.0',
    ]);
  });

  it('gives scripts the shared files that they refer to', async () => {
    await stage.start();
    const sharedFiles = [
      { path: 'a.ts', content: 'export {}' },
      { path: 'b.ts', content: 'export {};' },
    ];
    const { request: _none, ...plain } = job;
    const browser = {
      freeSlots: { probe: 1, script: 1 },
      checkTypes: ['BROWSER'],
      runtimes: ['2026.04'],
    };
    await stage.agent.claim(browser);
    await run({
      checkRunJobs: [{ ...plain, checkType: 'BROWSER', script: 'x', dependencies: [1] }],
      sharedFiles,
    });
    const rows = await stage.harness.store.testDefinitions.findMany(
      (await stage.agent.claim(browser)).map(({ check }) => check.id),
    );
    const dependencies = [...rows.values()].map(({ check }) => check.definition['dependencies']);
    expect(dependencies).toEqual([[sharedFiles[1]]]);
  });

  it('requires keys that may write: a definition may use every secret of the account', async () => {
    await stage.start();
    const body = { name: 'try', runLocation, checkRunJobs: [job] };
    for (const role of ['READ_ONLY', 'READ_RUN'] as const) {
      const key = await stage.harness.addKey(role);
      const { status } = await stage.harness.call('POST', '/v1/test-sessions/run', body, { key });
      expect(status, role).toBe(403);
    }
  });
}
