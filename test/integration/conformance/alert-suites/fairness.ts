import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { AlertFacts } from '../../../../src/service/alerts/facts.ts';
import { storeAlert } from '../../../../src/service/alerts/raise.ts';
import { type HttpReceiver, startHttpReceiver } from '../../../helpers/service/alert-receivers.ts';
import { until } from '../../../helpers/service/service.ts';
import type { AlertStage } from './alert-stage.ts';

const facts: AlertFacts = {
  checkName: 'Shop',
  checkType: 'URL',
  checkDescription: null,
  groupName: null,
  tags: [],
  runLocation: 'lab',
  responseTimeMs: 1,
  error: 'down',
  statusCode: null,
  statusText: null,
  startedAt: null,
  reminder: 0,
  recoversFrom: null,
  certificate: null,
};

/** One account's receivers and templates do not delay other accounts. */
export function fairnessSuite(stage: AlertStage): void {
  let http: HttpReceiver;
  let hanging: HttpReceiver;
  beforeEach(async () => {
    http = await startHttpReceiver();
    hanging = await startHttpReceiver();
    stage.alerting = { PUBLIC_URL: 'https://picket.test/', ALERTS_PER_MINUTE: 0 };
    await stage.start();
  });
  afterEach(async () => {
    // Pending requests end with the receiver.
    await hanging[Symbol.asyncDispose]();
    await http[Symbol.asyncDispose]();
  });

  /** Creates channels of an account and alerts of as many checks, each for all of the channels. */
  async function alerts(accountId: string, configs: readonly object[], alertCount: number): Promise<void> {
    const { store } = stage.harness;
    const created = stage.clock.wallMs();
    const channels = await Promise.all(
      configs.map((config) => {
        const definition = JSON.stringify({ config, sendFailure: true });
        return store.alertChannels.insert({
          account_id: accountId,
          type: 'WEBHOOK',
          definition,
          created,
          updated: null,
        });
      }),
    );
    await store.transaction(async (repositories) => {
      for (let count = 0; count < alertCount; count++) {
        const alert = {
          id: randomUUID(),
          account_id: accountId,
          check_id: randomUUID(),
          alert_type: 'ALERT_FAILURE' as const,
          notice: 'failure' as const,
          result_id: null,
          facts: JSON.stringify(facts),
          created,
        };
        await storeAlert(repositories, alert, channels);
      }
    });
  }

  /** Advances time meanwhile: the notifier sleeps by the clock of the stage. */
  const untilReceived = (count: number) =>
    until(`${count} notifications have arrived`, () => {
      stage.clock.advance(20);
      return http.received.length === count;
    });

  const webhook = (url: string, template: string | null = null) => ({
    name: 'hook',
    url,
    method: 'POST',
    template,
    headers: [],
    queryParameters: [],
    webhookSecret: null,
  });

  it('notifies an account while all receivers of another one hang', async () => {
    hanging.answerNext(...Array<number>(1000).fill(0));
    const hooks = ['a', 'b', 'c'].map((path) => webhook(`${hanging.url}/${path}`));
    await alerts(stage.harness.accountId, hooks, 50);
    const { accountId } = await stage.harness.addAccount();
    await alerts(accountId, [webhook(`${http.url}/one`), webhook(`${http.url}/two`)], 10);
    stage.harness.startAlerting();
    await untilReceived(20);
    // The limit of concurrent notifications of one account, while none has ended.
    expect(hanging.received.length).toBeLessThanOrEqual(8);
    expect(Math.max(...countsOf(hanging.received.map(({ path }) => path)))).toBeLessThanOrEqual(4);
  });

  it('notifies an account of its other channels while one of them hangs', async () => {
    hanging.answerNext(...Array<number>(1000).fill(0));
    await alerts(stage.harness.accountId, [webhook(hanging.url)], 50);
    await alerts(stage.harness.accountId, [webhook(`${http.url}/well`)], 20);
    stage.harness.startAlerting();
    await untilReceived(20);
    expect(hanging.received.length).toBeLessThanOrEqual(4);
  });

  it('notifies an account of its other channels while several of them hang', async () => {
    hanging.answerNext(...Array<number>(1000).fill(0));
    await alerts(stage.harness.accountId, [webhook(`${hanging.url}/a`), webhook(`${hanging.url}/b`)], 50);
    await alerts(stage.harness.accountId, [webhook(`${http.url}/well`)], 20);
    stage.harness.startAlerting();
    await untilReceived(20);
    // None of the hanging notifications has been given up meanwhile.
    expect(hanging.received.length).toBeLessThanOrEqual(8);
  });

  const long = `(replace "${'a'.repeat(990)}" "a" "${'b'.repeat(990)}")`;
  const loops = `{{#each (split "${'a'.repeat(900)}" "")}}${`{{#if (startsWith ${long} "c")}}{{/if}}`.repeat(20)}{{/each}}`;
  const lists = `${`{{#with (split ${long} "")}}`.repeat(60)}x${'{{/with}}'.repeat(60)}`;
  it.each([
    ['does not end', loops],
    ['takes all memory', lists],
  ])('notifies an account while a template of another one %s', async (_what, template) => {
    await alerts(stage.harness.accountId, [webhook(`${hanging.url}/x`, template)], 30);
    const { accountId } = await stage.harness.addAccount();
    await alerts(accountId, [webhook(`${http.url}/one`, '{"title":"{{ALERT_TITLE}}"}')], 3);
    stage.harness.startAlerting();
    await untilReceived(3);
    expect(http.received.map(({ body }) => body)).toEqual(Array(3).fill('{"title":"Shop has failed"}'));
    const ended = await until('the templates are done with', async () => {
      stage.clock.advance(20);
      const all = await stage.notifications();
      return all.every(({ status }) => status !== 'IN_PROGRESS') && all;
    });
    expect(ended.map(({ status }) => status)).toEqual(Array(30).fill('FAILURE'));
    expect(ended[0].notificationResult).toContain('templates take more than');
  });
}

function countsOf(values: readonly string[]): number[] {
  return [...Map.groupBy(values, (value) => value).values()].map(({ length }) => length);
}
