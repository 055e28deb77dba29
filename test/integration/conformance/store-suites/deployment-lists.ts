import { expect, it } from 'vitest';
import type { StoreStage } from './stage.ts';

/** The list of the deployments of a project. */
export function deploymentListSuite(stage: StoreStage): void {
  const call = (...args: Parameters<typeof stage.harness.call>) => stage.harness.call(...args);
  const path = '/v1/projects/project/deployments';
  const deploy = () =>
    call('POST', '/v1/projects/deploy', {
      project: { logicalId: 'project', name: 'Project' },
      resources: [],
    });

  it('lists the deployments of a project, newest first, also those of a period', async () => {
    await stage.start();
    const { body: cancelled } = await deploy();
    await call('POST', `${path}/${cancelled.id}/cancel`);
    stage.clock.advance(1_000);
    stage.harness.startDeployments();
    const succeeded = await stage.deploymentEnded(await deploy());
    const { body: all } = await call('GET', path);
    expect(all).toMatchObject([
      { id: succeeded.id, status: 'SUCCEEDED' },
      { id: cancelled.id, status: 'CANCELLED' },
    ]);
    expect(all[0]).not.toHaveProperty('result');
    expect((await call('GET', `${path}?limit=1&page=2`)).body).toEqual([all[1]]);
    // The older had not been requested before, and both have ended since.
    expect((await call('GET', `${path}?to=${Date.parse(cancelled.createdAt)}`)).body).toEqual([]);
    expect((await call('GET', `${path}?to=${Date.parse(succeeded.createdAt)}`)).body).toEqual([all[1]]);
    stage.clock.advance(60_000);
    const now = stage.harness.clock.wallMs();
    expect((await call('GET', `${path}?from=${now}`)).body).toEqual([]);
    expect((await call('GET', `${path}?from=${now}&to=${now - 1}`)).status).toBe(400);
    const stranger = await stage.harness.addAccount();
    expect((await call('GET', path, undefined, { key: stranger.key })).status).toBe(404);
  });
}
