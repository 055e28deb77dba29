import { afterEach, beforeEach, expect, it } from 'vitest';
import { failure } from '../../../../src/checks/contract/failure.ts';
import { type HttpReceiver, startHttpReceiver } from '../../../helpers/service/alert-receivers.ts';
import type { AlertStage } from './alert-stage.ts';

/** The root cause of a failure in messages. */
export function rootCauseSuite(stage: AlertStage): void {
  let http: HttpReceiver;
  beforeEach(async () => {
    http = await startHttpReceiver();
    stage.alerting = { ALERTS_PER_MINUTE: 0 };
    await stage.start();
  });
  afterEach(() => http[Symbol.asyncDispose]());

  it('contains the root cause of a failure, even if the analysis job has not run', async () => {
    await stage.channel('WEBHOOK', { name: 'hook', url: `${http.url}/all` });
    const checkId = await stage.check({ name: 'Shop' });
    await stage.report(await stage.lease(checkId), 'passed');
    const message = 'connect ECONNREFUSED 10.0.0.5:8443';
    const down = { failure: failure('CONNECTION_REFUSED', message), errorMessages: [message] };
    await stage.report(await stage.lease(checkId), 'failed', down);
    await stage.delivered();
    const body = JSON.parse(http.received[0]?.body ?? '');
    expect(body.ai_analysis_root_cause).toMatch(/^Certain: 10\.0\.0\.5:8443 refuses connections/);
    expect(body).toMatchObject({ ai_analysis_classification: 'INFRASTRUCTURE_ERROR' });
  });

  it('contains no root cause of another failure with a similar error', async () => {
    const config = { name: 'hook', url: `${http.url}/all` };
    await stage.channel('WEBHOOK', config, { sendRecovery: false });
    const checkId = await stage.check({ name: 'Shop' });
    const failsBy = async (code: 'CONNECTION_TIMEOUT' | 'CONNECTION_REFUSED', message: string) => {
      await stage.report(await stage.lease(checkId), 'passed');
      const down = { failure: failure(code, message), errorMessages: [message] };
      await stage.report(await stage.lease(checkId), 'failed', down);
      await stage.delivered();
      return JSON.parse(http.received.at(-1)?.body ?? '');
    };
    const silent = await failsBy(
      'CONNECTION_TIMEOUT',
      'the connection of this check to the host shop.test: ETIMEDOUT',
    );
    expect(silent.ai_analysis_root_cause).toMatch(/^Likely: .* does not respond at all/);
    const refused = await failsBy(
      'CONNECTION_REFUSED',
      'the connection of this check to the host shop.test: EREFUSED',
    );
    expect(refused).toMatchObject({ fault_of: 'the target' });
    expect(refused).not.toHaveProperty('ai_analysis_root_cause');
    const { body: groups } = await stage.harness.call('GET', `/v1/error-groups/checks/${checkId}`);
    expect(groups).toHaveLength(1);
  });
}
