import { failure } from '../../../../src/checks/contract/failure.ts';
import type { LeasedRun, ResultReport } from '../../../../src/protocol/agent/agent.ts';
import { createCheck, reportOf, until } from '../../../helpers/service/service.ts';
import { StoreStage } from '../store-suites/stage.ts';

export type Verdict = 'passed' | 'degraded' | 'failed' | 'broken';

const reports: Record<Verdict, Partial<ResultReport>> = {
  passed: {},
  degraded: { isDegraded: true },
  failed: { failure: failure('CONNECTION_REFUSED', 'connect ECONNREFUSED "10.0.0.5"') },
  broken: { failure: failure('AGENT_OUT_OF_RESOURCES', 'EMFILE') },
};

export const minuteMs = 60_000;
/** The clock stands still this long for a notification in progress; after that, the notification may be lost. */
const heldMs = 10_000;
/** Custom settings: no retries, alerts at the first failure. */
export const ownSettings = {
  privateLocations: ['lab'],
  retryStrategy: null,
  doubleCheck: false,
  useGlobalAlertSettings: false,
};

/** A stage that drives checks through verdicts. */
export class AlertStage extends StoreStage {
  /** Creates a check that is subscribed to every existing channel. */
  async check(fields: Readonly<Record<string, unknown>> = {}): Promise<string> {
    return (await createCheck(this.harness, { ...ownSettings, ...fields })).id;
  }

  async channel(type: string, config: object, flags: object = {}): Promise<number> {
    const answer = await this.harness.call('POST', '/v1/alert-channels', { type, config, ...flags });
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body.id;
  }

  /** Runs the next slot of a check once for each of these verdicts. */
  async runs(checkId: string, ...verdicts: readonly Verdict[]): Promise<void> {
    for (const verdict of verdicts) await this.report(await this.lease(checkId), verdict);
  }

  async lease(checkId: string): Promise<LeasedRun> {
    await this.queueNextSlot(checkId);
    const runs = await this.agent.claim();
    // Other checks may have been due as well.
    const run = runs.find(({ check }) => check.id === checkId);
    if (!run) throw new Error('nothing was leased');
    return run;
  }

  async report(run: LeasedRun, verdict: Verdict, fields: Partial<ResultReport> = {}): Promise<void> {
    const [status] = await this.agent.report([reportOf(run, { ...reports[verdict], ...fields })]);
    if (status !== 'accepted') throw new Error(String(status));
  }

  // biome-ignore lint/suspicious/noExplicitAny: notifications as the API shows them
  async notifications(query = ''): Promise<any[]> {
    const answer = await this.harness.call('GET', `/v1/alert-notifications?limit=100${query}`);
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  }

  /** The types of a check's alerts, oldest first. */
  async alertTypes(checkId: string): Promise<string[]> {
    const answer = await this.harness.call('GET', `/v1/check-alerts/${checkId}?limit=100`);
    return answer.body.map(({ alertType }: { alertType: string }) => alertType).reverse();
  }

  /** Starts alerting and waits until nothing is in progress. Returns the notifications, oldest first. */
  async delivered(stepMs = 20) {
    this.harness.startAlerting();
    let nextMs = stepMs;
    let heldSinceMs: number | undefined;
    return until('all notifications ended', async () => {
      const all = await this.notifications();
      const open = all.filter(({ status }) => status === 'IN_PROGRESS');
      if (open.length === 0) return all.reverse();
      // If time passed while a notification is in progress, it would look like one of a dead process and be sent again.
      heldSinceMs = (await this.#isInHand(open)) ? (heldSinceMs ?? performance.now()) : undefined;
      if (heldSinceMs !== undefined && performance.now() - heldSinceMs < heldMs) return false;
      this.clock.advance(nextMs);
      // Larger steps, for a retry.
      nextMs = Math.max(stepMs, Math.min(100, Math.ceil(nextMs * 1.02)));
      return false;
    });
  }

  async #isInHand(open: readonly { readonly id: string }[]): Promise<boolean> {
    const { store, clock } = this.harness;
    const rows = await Promise.all(open.map(({ id }) => store.notifications.find(id)));
    return rows.some((row) => row && row.tries > row.failed_tries && row.next_at > clock.wallMs());
  }
}
