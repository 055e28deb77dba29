import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type FailureCode, failure } from '../../../../src/checks/contract/failure.ts';
import type { LeasedRun, ResultReport } from '../../../../src/protocol/agent/agent.ts';
import { type HttpReceiver, startHttpReceiver } from '../../../helpers/service/alert-receivers.ts';
import { createLocation, reportOf, TestAgent, until } from '../../../helpers/service/service.ts';
import { urlDetail } from '../../../helpers/service/url-detail.ts';
import { type AlertStage, minuteMs } from './alert-stage.ts';

type Verdict = (run: LeasedRun) => Partial<ResultReport>;

/** One cause, one alert: failures that share evidence yield one notification, one recovery and one incident. */
export function causeSuite(stage: AlertStage): void {
  let http: HttpReceiver;
  beforeEach(async () => {
    http = await startHttpReceiver();
    stage.alerting = {};
    await stage.start();
    const template = '{{ALERT_TYPE}} {{{ALERT_TITLE}}} ({{{CAUSE_MEMBERS}}})';
    await stage.channel('WEBHOOK', { name: 'hook', url: `${http.url}/hook`, template });
  });
  afterEach(async () => {
    await http[Symbol.asyncDispose]();
  });

  const got = (path = '/hook') =>
    http.received.filter((request) => request.path === path).map(({ body }) => body);
  const addressOf = '10.0.0.5';
  const seen = (run: LeasedRun, address: string | null = addressOf) =>
    urlDetail((run.check.spec as { request: { url: string } }).request.url, address);
  const passed: Verdict = (run) => ({ detail: seen(run) });
  const failed =
    (code: FailureCode = 'CONNECTION_REFUSED'): Verdict =>
    (run) => ({ detail: seen(run), failure: failure(code, 'it failed') });
  const only =
    (checkId: string, verdict: Verdict, ofOthers: Verdict): Verdict =>
    (run) =>
      (run.check.id === checkId ? verdict : ofOthers)(run);
  const url = (host: string) => ({ request: { url: `https://${host}.test/` } });
  // biome-ignore lint/suspicious/noExplicitAny: causes as the API shows them
  const causes = async (query = ''): Promise<any[]> =>
    (await stage.harness.call('GET', `/v1/alert-causes${query}`)).body;

  /** Advances by seconds until the condition holds: alerts are held for ten. */
  const seconds = (what: string, look: () => Promise<boolean>) =>
    until(what, async () => {
      const seen = await look();
      if (!seen) stage.clock.advance(1_000);
      return seen;
    });

  /**
   * Runs the next slot of some checks, wherever they run; slots within ten seconds run together. Other checks may be due by then: the
   * verdict is theirs, too.
   */
  async function runAll(checkIds: readonly string[], agents: readonly TestAgent[], verdict: Verdict) {
    stage.harness.startScheduler();
    const checks = [...(await stage.harness.store.checks.findMany(checkIds)).values()];
    const isMeant = ({ check }: LeasedRun) => checkIds.includes(check.id);
    const slots = checks.map(({ slots }) => slots.nextSlotAt ?? 0).sort((left, right) => left - right);
    for (const together of Map.groupBy(slots, (slotAt) => Math.floor(slotAt / 10_000)).values()) {
      stage.clock.advance(Math.max(0, (together.at(-1) ?? 0) - stage.clock.wallMs()));
      for (const agent of agents) {
        const runs: LeasedRun[] = [];
        await stage.advanceUntil('all runs of the slots are leased', async () => {
          runs.push(...(await agent.claim()));
          return runs.filter(isMeant).length >= together.length;
        });
        await agent.report(runs.map((run) => reportOf(run, verdict(run))));
      }
    }
  }

  it('notifies once of a dead host of 100 checks at 3 locations, within a minute, and once of its recovery', async () => {
    const others = await Promise.all(['second', 'third'].map((slug) => createLocation(stage.harness, slug)));
    const agents = [stage.agent, ...others.map((location) => new TestAgent(stage.harness, location))];
    const checkIds: string[] = [];
    for (let index = 0; index < 100; index += 1) {
      const fields = { privateLocations: ['lab', 'second', 'third'], runParallel: true, ...url(`v${index}`) };
      const frequencyOffset = 1 + 3 * (index % 3);
      checkIds.push(await stage.check({ name: `check ${index}`, frequencyOffset, ...fields }));
    }
    await runAll(checkIds, agents, passed);
    stage.harness.startAlerting();
    const diedAt = stage.clock.wallMs();
    await runAll(checkIds, agents, failed());
    await seconds('it was notified', async () => got().length > 0);
    expect(stage.clock.wallMs() - diedAt).toBeLessThanOrEqual(2 * minuteMs);
    await seconds('all have joined', async () => (await causes())[0]?.members.length === 100);
    const [cause, ...further] = await causes('?isOpen=true');
    expect(further).toEqual([]);
    expect(cause).toMatchObject({ kind: 'address', evidence: addressOf, closedAt: null, memberCount: 100 });
    expect(cause.reason).toContain(addressOf);
    const alone = async (id: string) => await stage.harness.call('GET', `/v1/alert-causes/${id}`);
    expect((await alone(cause.id)).body).toEqual(cause);
    expect((await alone(randomUUID())).status).toBe(404);
    const notices = (await stage.notifications()).toReversed();
    expect(Date.parse(notices[0].created_at) - diedAt).toBeLessThanOrEqual(minuteMs);
    await runAll(checkIds, agents, passed);
    await seconds('the recovery was notified', async () =>
      got().some((body) => body.startsWith('ALERT_RECOVERY')),
    );
    expect((await causes('?isOpen=false'))[0].recoveredCount).toBe(100);
    // Checks that failed half a minute after the first are reported separately, once.
    const bodies = got().map((body) => body.replace(/ \(.*/s, ''));
    const subject = `Address ${addressOf}`;
    expect(bodies).toEqual([
      expect.stringMatching(`^ALERT_FAILURE ${subject}: \\d+ checks fail$`),
      expect.stringMatching(`^ALERT_FAILURE ${subject}: \\d+ more checks fail$`),
      `ALERT_RECOVERY ${subject}: all 100 checks have recovered`,
    ]);
    const metrics = (await stage.harness.call('GET', '/metrics')).body;
    expect(metrics).toMatch(/^picket_alerts_grouped_total\{.*kind="address"\} 99$/m);
    // Each check has its own alerts, with their cause.
    const [alert] = (await stage.harness.call('GET', `/v1/check-alerts/${checkIds[0]}`)).body;
    expect(alert.cause).toMatchObject({ id: cause.id, kind: 'address' });
  }, 60_000);

  it('notifies at once of failures that no other check can share', async () => {
    const [one, other] = [await stage.check(url('one')), await stage.check(url('other'))];
    const elsewhere: Verdict = (run) => ({ detail: seen(run, '10.0.0.6') });
    await runAll([other], [stage.agent], only(one, passed, elsewhere));
    await runAll([one], [stage.agent], only(one, failed(), elsewhere));
    expect(await stage.notifications()).toHaveLength(1);
    expect(await causes()).toEqual([]);
  });

  it('holds failures for seconds that others may share, and notifies a recovery that arrived meanwhile', async () => {
    const [one, other] = [await stage.check(url('same')), await stage.check(url('same'))];
    await runAll([one, other], [stage.agent], passed);
    await runAll([one], [stage.agent], only(one, failed(), passed));
    expect(await stage.notifications()).toEqual([]);
    stage.harness.startAlerting();
    await runAll([one], [stage.agent], passed);
    await seconds('both were notified', async () => got().length === 2);
    expect(got().map((body) => body.split(' ')[0])).toEqual(['ALERT_FAILURE', 'ALERT_RECOVERY']);
  });

  it('notifies a channel without grouping of every check', async () => {
    const config = { name: 'tickets', url: `${http.url}/tickets`, template: '{{ALERT_TYPE}}' };
    await stage.channel('WEBHOOK', config, { groupByCause: false });
    const both = [
      await stage.check({ name: 'twin', ...url('same') }),
      await stage.check({ name: 'twin', ...url('same') }),
    ];
    await runAll(both, [stage.agent], passed);
    await runAll(both, [stage.agent], failed());
    stage.harness.startAlerting();
    await stage.advanceUntil(
      'both channels heard',
      async () => got('/tickets').length === 2 && got().length === 1,
    );
    await runAll(both, [stage.agent], passed);
    await seconds('of the recovery, too', async () => {
      return got('/tickets').length === 4 && got().length === 2;
    });
    expect(got()).toEqual([
      'ALERT_FAILURE Host same.test: 2 checks fail (twin,twin)',
      'ALERT_RECOVERY Host same.test: all 2 checks have recovered (twin,twin)',
    ]);
  });

  it('reports a check that joins, and a recovery while another one fails, and runs that one at once', async () => {
    // The clock of this test jumps, which creates gaps and makes a delivery in progress look overdue, so it is sent
    // again.
    const told = () => [...new Set(got().filter((body) => !body.startsWith('ALERT_GAP')))];
    const fields = { name: 'slow', frequency: 10, ...url('same') };
    const fast = await stage.check({ name: 'fast', ...url('same') });
    const slow = await stage.check(fields);
    await runAll([fast, slow], [stage.agent], passed);
    stage.harness.startAlerting();
    await runAll([fast], [stage.agent], failed());
    await seconds('the first was notified', async () => told().length === 1);
    await runAll([slow], [stage.agent], failed());
    await seconds('the other was told to have joined', async () => told().length === 2);
    await runAll([fast], [stage.agent], passed);
    const runs: LeasedRun[] = [];
    await seconds('the slow one is run ahead of its time', async () => {
      runs.push(...(await stage.agent.claim()).filter(({ check }) => check.id === slow));
      return runs.length > 0;
    });
    await stage.agent.report(runs.map((run) => reportOf(run, failed()(run))));
    await seconds('the recovery was told', async () => told().length === 3);
    await runAll([slow], [stage.agent], passed);
    await seconds('all have recovered', async () => told().length === 4);
    expect(told()).toEqual([
      expect.stringMatching(/^ALERT_FAILURE fast has failed|^ALERT_FAILURE Host same.test: /),
      expect.stringContaining('ALERT_FAILURE Host same.test: 1 more check fails (slow)'),
      expect.stringContaining('ALERT_RECOVERY Host same.test: fast has recovered; 1 of 2 checks still fails'),
      expect.stringContaining('ALERT_RECOVERY Host same.test: all 2 checks have recovered'),
    ]);
  });

  it('leaves to an unhealthy location what that explains', async () => {
    const both = [await stage.check(url('one')), await stage.check(url('other'))];
    await runAll(both, [stage.agent], passed);
    const event = {
      eventId: randomUUID(),
      kind: 'network',
      evidence: 'no way out',
      affectedRuns: 0,
      endedAt: null,
    };
    const startedAt = stage.clock.wallMs();
    const events = [{ ...event, startedAt }];
    await stage.agent.call('location-events', { ...stage.agent.identity, events });
    await runAll(both, [stage.agent], failed('CONNECTION_TIMEOUT'));
    stage.harness.startAlerting();
    await seconds('they are grouped', async () => (await causes())[0]?.memberCount === 2);
    expect(await causes()).toMatchObject([{ kind: 'location', evidence: 'lab', isLocationsOwn: true }]);
    expect((await stage.notifications()).map(({ alertType }) => alertType)).toEqual(['ALERT_LOCATION_SICK']);
  });

  it('opens one incident for all members, and forgets a deleted one', async () => {
    const incident = { severity: 'MAJOR', name: 'Down', description: 'x', notifySubscribers: false };
    const triggerIncident = { serviceId: randomUUID(), ...incident };
    const fields = { triggerIncident, ...url('same') };
    const [one = '', other = ''] = [await stage.check(fields), await stage.check(fields)];
    await runAll([one, other], [stage.agent], passed);
    await runAll([one, other], [stage.agent], failed());
    stage.harness.startAlerting();
    const { store, accountId } = stage.harness;
    await seconds('they are grouped', async () => (await causes())[0]?.memberCount === 2);
    const kinds = async () => (await store.incidentEvents.lockOldest(10)).map(({ kind }) => kind);
    expect(await kinds()).toEqual(['open']);
    await stage.harness.call('DELETE', `/v1/checks/${one}`);
    await runAll([other], [stage.agent], passed);
    await stage.advanceUntil(
      'the cause is over',
      async () => (await store.alertCauses.open([accountId])).length === 0,
    );
    expect(await kinds()).toEqual(['open', 'resolve']);
  });

  it('groups checks with their parent, and refuses impossible parents', async () => {
    const router = await stage.check({ name: 'router', ...url('router') });
    const fields = { parentCheckIds: [router], frequencyOffset: 1 };
    const children = [
      await stage.check({ ...fields, ...url('a') }),
      await stage.check({ ...fields, ...url('b') }),
    ];
    const change = async (id: string, parentCheckIds: string[]) =>
      (await stage.harness.call('PUT', `/v1/checks/${id}`, { parentCheckIds })).status;
    const [child = ''] = children;
    const stranger = await stage.harness.addAccount();
    const foreign = { name: 'x', request: { url: 'https://x.test/' } };
    const other = await stage.harness.call('POST', '/v1/checks/url', foreign, { key: stranger.key });
    for (const [id, parents] of [
      [router, [child]],
      [router, [router]],
      [child, [randomUUID()]],
      [child, [other.body.id]],
    ] as const) {
      expect(await change(id, [...parents])).toBe(400);
    }
    const each: Verdict = (run) => ({
      detail: seen(run, null),
      failure: failure('CONNECTION_REFUSED', 'no'),
    });
    await runAll([...children, router], [stage.agent], each);
    stage.harness.startAlerting();
    await seconds('they are grouped', async () => (await causes())[0]?.memberCount === 3);
    expect((await causes()).map(({ kind, evidence }) => [kind, evidence])).toEqual([['parent', 'router']]);
    await stage.advanceUntil('it was notified', async () => got().length > 0);
    expect(await stage.notifications()).toHaveLength(1);
    // A deleted parent does not prevent changes to its children.
    await stage.harness.call('DELETE', `/v1/checks/${router}`);
    expect(await change(child, [router])).toBe(200);
  });
}
