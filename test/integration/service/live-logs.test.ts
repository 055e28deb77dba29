import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ApiClient } from '../../../src/cli/api/client.ts';
import { RunLogs } from '../../../src/cli/operate/run-logs.ts';
import type { Signal } from '../../../src/platform/store/engine/signals.ts';
import type { LeasedRun } from '../../../src/protocol/agent/agent.ts';
import { followedRunsOfAccount } from '../../../src/service/live-logs/followed-runs.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
} from '../../helpers/service/service.ts';
import { loggedIn } from '../../helpers/service/visitor.ts';

const clock = new ManualClock(Date.UTC(2026, 10, 28, 12));
const ability = {
  checkTypes: ['MULTI_STEP', 'URL'],
  freeSlots: { probe: 10, script: 40 },
  runtimes: ['2026.04'],
};
let harness: ServiceHarness;
let agent: TestAgent;
let location: Awaited<ReturnType<typeof createLocation>>;
let checkId: string;

beforeAll(async () => {
  harness = await openHarness({ clock });
  location = await createLocation(harness, 'lab');
  agent = new TestAgent(harness, location);
  await agent.claim(ability);
});
afterAll(() => harness.close());
beforeEach(async () => {
  // The readers of the test before are gone.
  clock.advance(21_000);
  clock.set(Date.UTC(2026, 10, 28, 12));
  checkId = await createScript('script');
});

async function createScript(name: string): Promise<string> {
  const { status, body } = await harness.call('POST', '/v1/checks/multistep', {
    ...{ name, frequency: 1440, privateLocations: ['lab'], script: 'console.log(1)' },
    ...{ retryStrategy: null, doubleCheck: false },
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.id;
}

/** Details of a script's run. */
const multiStepDetail = (fields: object) => ({
  ...{ errors: [], startTime: clock.wallMs(), endTime: clock.wallMs(), runtimeVersion: '2026.04' },
  ...{ isMarkedDegraded: false, degradedReason: null, tests: [], steps: [], peakMemoryBytes: 0, cpuMs: 0 },
  ...{ jobLog: [], jobAssets: [], playwrightTestTraces: [], playwrightTestJsonReportFile: null },
  ...fields,
});

/** Runs checks now; returns the path of its live log and its run. */
async function start(ids: string | readonly string[] = checkId) {
  const { body } = await harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId: ids } });
  const paths = body.sessions.map(
    (one: { checkSessionId: string }) => `/v1/check-sessions/${one.checkSessionId}/live-log`,
  );
  return paths as string[];
}

const pageOf = (path = '') => path.replace('/v1/check-sessions', '/sessions/checks').replace('/live-log', '');
const line = (msg: string) => ({ time: clock.wallMs(), level: 'INFO', msg });
const send = async (
  by: TestAgent,
  { runId, leaseNumber }: LeasedRun,
  msgs: readonly string[],
  firstLine = 0,
) =>
  by.call('live-log', {
    ...by.identity,
    runs: [{ runId, leaseNumber, firstLine, lines: msgs.map(line) }],
  });
const read = async (path = '', key = harness.key) => harness.call('GET', path, undefined, { key });
const messagesAt = async (path = '') =>
  (await read(path)).body.runs.map(({ lines }: { lines: { msg: string }[] }) => lines.map(({ msg }) => msg));
const renewed = async (runs: readonly LeasedRun[]) =>
  ((await agent.renew(runs)) as unknown as { followedRunIds: string[] }).followedRunIds;

describe('the live log of a run', () => {
  it('is asked of its agent while someone reads it, and is on the page until the result has it', async () => {
    const [path] = await start();
    const [run] = await agent.claim(ability);
    if (!run) throw new Error('no run');
    // Without a reader the agent's lines are dropped, and it learns that.
    expect(await renewed([run])).toEqual([]);
    expect((await send(agent, run, ['unread'])).body.followedRunIds).toEqual([]);
    expect((await read(path)).body.runs).toMatchObject([
      { checkId, attempt: 0, isFollowed: true, lines: [] },
    ]);
    expect(await renewed([run])).toEqual([run.runId]);
    expect((await send(agent, run, ['one', 'two <b>'])).body.followedRunIds).toEqual([run.runId]);
    // After a lost answer the agent sends them again, with later ones.
    await send(agent, run, ['one', 'two <b>', 'three']);
    await send(agent, run, ['four'], 3);
    expect(await messagesAt(path)).toEqual([['one', 'two <b>', 'three', 'four']]);
    const visitor = await loggedIn(harness, 'READ_ONLY');
    const page = pageOf(path);
    const { body } = await visitor.get(page);
    expect(body).toMatch(/Log so far[\s\S]*one[\s\S]*two &lt;b&gt;[\s\S]*four/);
    // No reader for a while.
    clock.advance(21_000);
    expect(await renewed([run])).toEqual([]);
    await agent.report([reportOf(run)]);
    expect((await read(path)).body.runs).toEqual([]);
    expect((await visitor.get(page)).body).not.toContain('Log so far');
    expect(await harness.store.liveLogs.removeEnded()).toBe(false);
    expect(await harness.store.liveLogs.sizes([run.runId])).toEqual(new Map());
  });

  it('follows a run from its claim on if someone reads before, and only types with such a log', async () => {
    const [path] = await start();
    expect((await read(path)).body.runs).toEqual([]);
    const { body } = await agent.call('claims', agent.claimBody(ability));
    expect(body.followedRunIds).toEqual([body.runs[0].runId]);
    const probe = await createCheck(harness, { privateLocations: ['lab'], frequency: 1440 });
    const [other] = await start(probe.id);
    const [run] = await agent.claim(ability);
    expect((await read(other)).body.runs).toMatchObject([{ isFollowed: false }]);
    expect(run && (await renewed([run]))).toEqual([]);
  });

  it('reaches an agent whose poll waits at once', async () => {
    const [path] = await start();
    const [run] = await agent.claim(ability);
    const waiting = agent.call('claims', agent.claimBody({ ...ability, waitMs: 30_000 }));
    await expect.poll(() => clock.sleeperCount).toBe(1);
    await read(path);
    expect((await waiting).body).toMatchObject({ runs: [], followedRunIds: [run?.runId] });
    // It is news only once: later signals wake no poll.
    const signals: Signal[] = [];
    const unsubscribe = harness.store.signals.subscribe((signal) => signals.push(signal));
    await read(path);
    clock.advance(10_000);
    await read(path);
    unsubscribe();
    const { accountId } = harness;
    expect(signals).toEqual([{ kind: 'followed', accountId, runId: run?.runId }]);
  });

  it('reaches an agent that claimed the run just before the signal came', async () => {
    const [path] = await start();
    await read(path);
    // The claim was answered by another process, which did not know yet.
    const claims = await agent.call('claims', agent.claimBody(ability));
    const [run] = claims.body.runs;
    const waiting = agent.call('claims', agent.claimBody({ ...ability, waitMs: 30_000 }));
    await expect.poll(() => clock.sleeperCount).toBe(1);
    await read(path);
    expect((await waiting).body).toMatchObject({ runs: [], followedRunIds: [run.runId] });
  });

  it('takes lines only from the agent that has the run, under its lease', async () => {
    const [path] = await start();
    await read(path);
    const [run] = await agent.claim(ability);
    if (!run) throw new Error('no run');
    const elsewhere = new TestAgent(harness, await createLocation(harness, 'other'), 'agent-2');
    const another = new TestAgent(harness, location, 'agent-3');
    for (const [by, of] of [
      [elsewhere, run],
      [another, run],
      [agent, { ...run, leaseNumber: run.leaseNumber + 1 }],
    ] as const) {
      expect((await send(by, of, ['forged'])).body.followedRunIds).toEqual([]);
    }
    expect(await messagesAt(path)).toEqual([[]]);
    // A later lease begins anew.
    await send(agent, run, ['of the first lease']);
    await agent.release([run]);
    const [again] = await agent.claim(ability);
    expect(again?.leaseNumber).toBe(run.leaseNumber + 1);
    expect(await messagesAt(path)).toEqual([[]]);
    expect(await harness.store.liveLogs.removeEnded()).toBe(false);
  });

  it('is for its account', async () => {
    const [path] = await start();
    await agent.claim(ability);
    const { key } = await harness.addAccount();
    expect((await read(path, key)).status).toBe(404);
    expect((await read(path?.replace('check-sessions', 'test-sessions'))).status).toBe(404);
  });

  it('is printed by the command, line by line, and completed from the result', async () => {
    const [path = ''] = await start();
    const [run] = await agent.claim(ability);
    if (!run) throw new Error('no run');
    await harness.app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = harness.app.server.address() as AddressInfo;
    const api = new ApiClient({ PICKET_URL: `http://127.0.0.1:${port}`, PICKET_API_KEY: harness.key });
    const printed: string[] = [];
    const logs = new RunLogs(api, (text) => printed.push(text));
    const session = async () => (await read(path.replace('/live-log', ''))).body;
    await logs.next(await session());
    expect(printed).toEqual([]);
    await send(agent, run, ['one', 'with *********']);
    await logs.next(await session());
    await logs.next(await session());
    expect(printed).toEqual(['12:00:00.000 INFO  one', '12:00:00.000 INFO  with *********']);
    const jobLog = ['one', 'with 1234567890abcdef', 'the \u001b[31mend'].map(line);
    await agent.report([reportOf(run, { detail: multiStepDetail({ jobLog }) })]);
    await logs.next(await session());
    await logs.next(await session());
    expect(printed.slice(2)).toEqual(['12:00:00.000 INFO  the  [31mend']);
  });

  it('of a test session, too', async () => {
    const { body } = await harness.call('POST', '/v1/test-sessions/trigger', {
      ...{ name: 'try', runLocation: 'lab', target: { checkId } },
    });
    const path = `/v1/test-sessions/${body.testSessionId}/live-log`;
    await read(path);
    const [run] = await agent.claim(ability);
    if (run) await send(agent, run, ['tested']);
    expect(await messagesAt(path)).toEqual([['tested']]);
    const visitor = await loggedIn(harness, 'READ_ONLY');
    expect((await visitor.get(`/sessions/tests/${body.testSessionId}`)).body).toMatch(
      /Log so far[\s\S]*tested/,
    );
  });

  it('is bounded: lines, bytes of a run, and followed runs of an account', async () => {
    const more = await Promise.all(
      Array.from({ length: followedRunsOfAccount }, (_none, index) => createScript(`script ${index}`)),
    );
    const paths = await start([checkId, ...more]);
    const runs = await agent.claim(ability);
    expect(runs).toHaveLength(followedRunsOfAccount + 1);
    for (const path of paths) await read(path);
    const followed = await renewed(runs);
    expect(followed).toHaveLength(followedRunsOfAccount);
    const run = runs.find(({ runId }) => followed.includes(runId));
    if (!run) throw new Error('no run is followed');
    expect((await send(agent, run, Array(201).fill('line'))).status).toBe(400);
    expect((await send(agent, run, ['line'], 501)).status).toBe(400);
    expect((await send(agent, run, ['x'.repeat(8193)])).status).toBe(400);
    expect((await send(agent, run, ['line'])).body.followedRunIds).toEqual([run.runId]);
    // Beyond two megabytes, which no agent sends, the lines are left out.
    const large = Array<string>(200).fill('x'.repeat(8000));
    for (const [portion, msgs] of [large, large, ['last']].entries()) {
      const { body } = await send(agent, run, msgs, 1 + 200 * portion);
      expect(body.followedRunIds).toEqual([run.runId]);
    }
    const logs = await Promise.all(paths.map(async (path) => ({ path, runs: (await read(path)).body.runs })));
    const full = logs.find((log) => log.runs[0].isFull);
    expect(full?.runs[0].lines).toHaveLength(201);
    const { body: page } = await (await loggedIn(harness, 'READ_ONLY')).get(pageOf(full?.path));
    expect(page).toMatch(/101 earlier lines[\s\S]*The log is long/);
  });
});
