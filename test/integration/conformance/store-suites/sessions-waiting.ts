import { expect, it, onTestFinished } from 'vitest';
import { checkTypeNames } from '../../../../src/checks/index.ts';
import { DirectoryStore } from '../../../../src/platform/artifact-store/directory-store.ts';
import { ServiceMetrics } from '../../../../src/service/metrics/metrics.ts';
import { LeaseSweep } from '../../../../src/service/retention/lease-sweep.ts';
import {
  createCheck,
  createLocation,
  quietLogger,
  reportOf,
  TestAgent,
  temporaryFolder,
  until,
} from '../../../helpers/service/service.ts';
import { leaseTtlMs, type StoreStage } from './stage.ts';

const minuteMs = 60_000;

/** On-demand runs that wait for an agent: how long they wait, and when waiting is pointless. */
export function sessionWaitingSuite(stage: StoreStage): void {
  const create = (fields: object = {}) =>
    createCheck(stage.harness, { privateLocations: ['lab'], doubleCheck: false, ...fields });
  const call = (method: string, path: string, body?: unknown) =>
    stage.harness.call(method, `/v1/${path}`, body);
  const trigger = (checkId: string | string[]) =>
    call('POST', 'check-sessions/trigger', { target: { checkId } });
  const tryOut = (checkId: string | string[], runLocation = 'lab') =>
    call('POST', 'test-sessions/trigger', { name: 'try', runLocation, target: { checkId } });
  const browserCheck = async () =>
    (
      await call('POST', 'checks/browser', {
        name: 'a browser',
        frequency: 10,
        privateLocations: ['lab'],
        runtimeId: '2026.04',
        script: 'await page.goto("http://shop.test/")',
      })
    ).body;
  const job = (logicalId: string, fields: object = {}) => ({
    logicalId,
    checkType: 'URL',
    name: logicalId,
    request: { url: 'http://shop.test/' },
    ...fields,
  });
  const runDefinitions = (checkRunJobs: object[]) =>
    call('POST', 'test-sessions/run', {
      name: 'try',
      runLocation: { type: 'PRIVATE', slugName: 'lab' },
      checkRunJobs,
    });

  it('reports at once that no agent can run a check, with what is missing and where', async () => {
    await stage.start();
    const check = await create();
    const { body: made } = await call('POST', `triggers/checks/${check.id}`);
    const noAgent = {
      status: 409,
      body: {
        statusCode: 409,
        error: 'Conflict',
        code: 'CANNOT_RUN_NOW',
        message:
          'No agent can run it now. No agent of the private location lab is connected. Start one with a key of the location.',
      },
    };
    stage.clock.advance(minuteMs);
    for (const answer of [
      await trigger(check.id),
      await tryOut(check.id),
      await runDefinitions([job('one')]),
      await call('GET', made.url.replace(/^\/v1\//, '')),
      await stage.harness.call('POST', '/next/test-sessions/trigger', {
        runLocation: { type: 'PRIVATE', slugName: 'lab' },
        checkId: check.id,
      }),
    ]) {
      expect(answer).toMatchObject(noAgent);
    }
    expect(await stage.runsOf(check.id)).toEqual([]);

    const browser = await browserCheck();
    await stage.agent.claim({ unavailable: { BROWSER: 'there is no Chromium' }, runtimes: ['2025.04'] });
    expect((await trigger(browser.id)).body.message).toBe(
      'No agent can run it now. No agent of the private location lab can run checks of type BROWSER with the runtime 2026.04. agent-1 says: there is no Chromium.',
    );
    expect((await trigger(check.id)).status).toBe(201);
    await stage.agent.claim({ checkTypes: [...checkTypeNames], runtimes: ['2025.04'] });
    expect((await trigger(browser.id)).body.message).toBe(
      'No agent can run it now. No agent of the private location lab can run checks of type BROWSER with the runtime 2026.04. agent-1 has the runtimes 2025.04.',
    );
    const icmp = job('ping', { checkType: 'ICMP', request: { hostname: 'shop.test' } });
    await stage.agent.claim({ unavailable: { ICMP: 'no right to open raw sockets' } });
    expect((await runDefinitions([icmp])).body.message).toBe(
      'No agent can run it now. No agent of the private location lab can run checks of type ICMP. agent-1 says: no right to open raw sockets.',
    );
    // An agent that announced its exit is gone at once.
    await stage.agent.call('leases/release', { ...stage.agent.identity, leases: [], isLeaving: true });
    expect(await trigger(check.id)).toMatchObject(noAgent);
  });

  it('ends the runs of a session that no agent can run at once, while the others run', async () => {
    await stage.start();
    await createLocation(stage.harness, 'empty');
    await stage.agent.claim();
    const [url, browser] = [await create(), await browserCheck()];
    const both = await create({ runParallel: true, privateLocations: ['lab', 'empty'] });

    const tried = await tryOut([url.id, browser.id]);
    expect(tried.status).toBe(201);
    const cannot = 'No agent of the location lab can run checks of type BROWSER with the runtime 2026.04.';
    expect(tried.body.results).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ checkId: url.id, resultType: 'PENDING', message: null }),
        expect.objectContaining({
          checkId: browser.id,
          resultType: 'FINAL',
          status: 'FAILED',
          aborted: true,
          message: cannot,
        }),
      ]),
    );
    const started = await runDefinitions([
      job('good'),
      job('bad', { checkType: 'ICMP', request: { hostname: 'shop.test' } }),
    ]);
    expect(started.status).toBe(202);
    const session = await call('GET', `test-sessions/${started.body.testSessionId}`);
    expect(session.body).toMatchObject({
      running: [started.body.sequenceIds.good],
      failed: [started.body.sequenceIds.bad],
    });

    const { body } = await trigger([url.id, browser.id, both.id]);
    const shown = await Promise.all(
      body.sessions.map(
        async ({ checkSessionId }: { checkSessionId: string }) =>
          (await call('GET', `check-sessions/${checkSessionId}`)).body,
      ),
    );
    const of = (id: string) => shown.find(({ checkId }) => checkId === id);
    expect(of(url.id)).toMatchObject({ status: 'STARTED', results: [] });
    expect(of(browser.id)).toMatchObject({
      status: 'TIMED_OUT',
      timeElapsed: 0,
      results: [{ aborted: true, message: cannot }],
    });
    expect(of(both.id).results).toEqual([
      expect.objectContaining({
        runLocation: 'empty',
        aborted: true,
        message: 'No agent of the location empty took the run. Start one, or look at its log.',
      }),
    ]);
    const leased = await stage.agent.claim();
    expect(leased).toHaveLength(4);
    await stage.agent.report(leased.map((run) => reportOf(run)));
    const ended = await call('GET', `test-sessions/${tried.body.testSessionId}`);
    expect(ended.body).toMatchObject({ status: 'FAILED' });
    // It runs at a location that has an agent.
    const able = await create({ privateLocations: ['empty', 'lab'] });
    expect((await trigger(able.id)).body.sessions).toMatchObject([{ runLocations: ['lab'] }]);
  });

  /**
   * Sweeps only when called: the clock of these tests runs for hours, and a sweep in the background would lag behind
   * it.
   */
  const openSweep = async () => {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const { store } = stage.harness;
    const artifactStore = await DirectoryStore.open(folder.path);
    const means = { clock: stage.clock, metrics: new ServiceMetrics(), logger: quietLogger };
    return new LeaseSweep({ store, artifactStore, leaseTtlMs, ...means });
  };

  it('waits while an agent works through a session, and then prefers the schedule', async () => {
    stage.leasesLastMs = 2 * minuteMs;
    await stage.start();
    const sweep = await openSweep();
    const one = { freeSlots: { probe: 1, script: 0 } };
    await stage.agent.claim();
    const { body: started } = await runDefinitions(Array.from({ length: 60 }, (_, n) => job(`job-${n}`)));
    const state = async () => (await call('GET', `test-sessions/${started.testSessionId}`)).body;
    const ranChecks: string[] = [];
    const workOne = async () => {
      const run = await until(
        `a run behind ${ranChecks.length}`,
        async () => (await stage.agent.claim(one))[0],
      );
      stage.clock.advance(42_000);
      await stage.agent.renew([run]);
      await sweep.turn();
      await stage.agent.report([reportOf(run)]);
      ranChecks.push(run.check.id);
    };
    // 42 seconds each, so 42 minutes in total.
    while (ranChecks.length < 50) await workOne();
    expect(await state()).toMatchObject({ status: 'RUNNING', failed: [] });
    const check = await create();
    await stage.queueNextSlot(check.id);
    while ((await state()).status === 'RUNNING') await workOne();
    expect(await state()).toMatchObject({ status: 'PASSED', failed: [], running: [] });
    expect(ranChecks[50]).toBe(check.id);
    expect((await stage.harness.store.runs.countSlots(check.id))['missed'] ?? 0).toBe(0);
  });

  it('ends the runs of a session if no agent claims any for six minutes, or after six hours', async () => {
    stage.leasesLastMs = 2 * minuteMs;
    await stage.start();
    const sweep = await openSweep();
    await stage.agent.claim();
    const { body: started } = await runDefinitions([job('one'), job('two'), job('three')]);
    const [run] = await stage.agent.claim({ freeSlots: { probe: 1, script: 0 } });
    if (!run) throw new Error('nothing was leased');
    const session = async () => (await call('GET', `test-sessions/${started.testSessionId}`)).body;
    const holdFor = async (minutes: number) => {
      for (let minute = 0; minute < minutes; minute += 1) {
        stage.clock.advance(minuteMs);
        await stage.agent.renew([run]);
        await sweep.turn();
      }
    };
    // An agent that holds one run for hours delays the other runs, for up to six hours.
    await holdFor(5.9 * 60);
    expect((await session()).running).toHaveLength(3);
    await holdFor(13);
    expect((await session()).running).toHaveLength(1);

    const second = new TestAgent(stage.harness, stage.location, 'agent-2');
    await second.claim();
    const { body: next } = await runDefinitions([job('one')]);
    await stage.agent.report([reportOf(run)]);
    stage.clock.advance(6 * minuteMs + 1_000);
    await sweep.turn();
    const { body: ended } = await call('GET', `test-sessions/${next.testSessionId}`);
    expect(ended).toMatchObject({
      status: 'FAILED',
      results: [{ message: 'No agent of the location lab took the run. Start one, or look at its log.' }],
    });
  });
}
