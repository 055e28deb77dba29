import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { type Answer, until } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

/** Deployments of several accounts at once. */
export function deploymentTurnSuite(stage: StoreStage): void {
  const call = (...args: Parameters<typeof stage.harness.call>) => stage.harness.call(...args);
  const deploy = (logicalId: string, key = stage.harness.key): Promise<Answer> => {
    const payload = {
      checkType: 'URL',
      name: logicalId,
      activated: false,
      request: { url: 'http://target.test/', method: 'GET' },
    };
    const body = {
      project: { logicalId, name: logicalId, repoUrl: null },
      sharedFiles: [],
      resources: [{ type: 'check', logicalId: 'check', payload }],
      repoInfo: null,
    };
    return call('POST', '/v1/projects/deploy?scheduleOnDeploy=false', body, { key });
  };
  const pathOf = (logicalId: string, { body }: Answer) => `/v1/projects/${logicalId}/deployments/${body.id}`;
  const statusAfter = async (logicalId: string, started: Answer, key = stage.harness.key) => {
    expect([logicalId, started.status, started.body.message]).toEqual([logicalId, 202, undefined]);
    const { status } = await until(`${logicalId} ends`, async () => {
      const { body } = await call('GET', pathOf(logicalId, started), undefined, { key });
      return body.endedAt !== null && body;
    });
    return status;
  };

  /** The next deployment lasts until it is released, and pauses all the time. */
  function holdNext(): { release(): void } {
    const { store } = stage.harness;
    const begin = store.longTransaction.bind(store);
    const released = new AbortController();
    vi.spyOn(store, 'longTransaction').mockImplementationOnce((work, version) =>
      begin(
        (repositories, pause) =>
          work(repositories, async () => {
            do {
              await pause();
              await turnOfLoop();
            } while (!released.signal.aborted);
          }),
        version,
      ),
    );
    return { release: () => released.abort() };
  }

  it('ends the deployment of an account while an earlier one of another is in progress', async () => {
    await stage.start();
    const other = await stage.harness.addAccount();
    const { release } = holdNext();
    const first = await deploy('first');
    const second = await deploy('second');
    const small = await deploy('small', other.key);
    stage.harness.startDeployments();
    expect(await statusAfter('small', small, other.key)).toBe('SUCCEEDED');
    const waiting = await call('GET', pathOf('second', second));
    expect(waiting.body).toMatchObject({ status: 'PENDING', endedAt: null });
    release();
    expect([await statusAfter('first', first), await statusAfter('second', second)]).toEqual([
      'SUCCEEDED',
      'SUCCEEDED',
    ]);
  });
}
