import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { PicketProcess } from '../../helpers/picket-process.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { temporaryFolder, until } from '../../helpers/service/service.ts';
import { startServiceProcess } from '../../helpers/service/service-process.ts';
import { emptyDatabase } from '../../helpers/service/shared-database.ts';

const noPostgres = whyNoPostgres();
const folder = temporaryFolder();
const started: PicketProcess[] = [];
/** `DEPLOYMENT_KILLS=20` for the long form. */
const kills = Number(process.env.DEPLOYMENT_KILLS ?? 4);
const resourceCount = 60;

afterEach(async () => {
  await Promise.all(started.splice(0).map((each) => each.kill('SIGKILL')));
});
afterAll(() => folder.remove());

const resources = (project: string) =>
  Array.from({ length: resourceCount }, (_, number) => ({
    type: 'check',
    logicalId: `check-${number}`,
    payload: {
      checkType: 'URL',
      name: `${project} ${number}`,
      tags: [project],
      activated: false,
      request: { url: 'http://target.test/', method: 'GET' },
    },
  }));

/**
 * Kills a service while it deploys, each time another project at another moment. The next process must find the whole
 * project or nothing of it, and must finish what was begun.
 */
async function killWhileDeploying(environment: Readonly<Record<string, string>>): Promise<void> {
  const start = () => startServiceProcess(environment, (each) => started.push(each));
  const seen: number[] = [];
  let service = await start();
  const countOf = async (project: string) => {
    const { body } = await service.call('GET', `/v1/checks?limit=100&tag=${project}`);
    return (body as unknown[]).length;
  };
  const deploymentOf = async (project: string) =>
    (await service.call('GET', `/next/projects/${project}`)).body?.lastDeployment?.status;
  const begin = async (project: string) => {
    const body = { project: { logicalId: project, name: project }, resources: resources(project) };
    const answer = await service.call('POST', '/v1/projects/deploy?scheduleOnDeploy=false', body);
    expect([answer.status, answer.body.message]).toEqual([202, undefined]);
  };
  await begin('unharmed');
  const begunAt = performance.now();
  await until('it is deployed', async () => (await deploymentOf('unharmed')) === 'SUCCEEDED', 60_000);
  const usualMs = performance.now() - begunAt;
  for (let round = 0; round < kills; round += 1) {
    const project = `project-${round}`;
    await begin(project);
    // From right after the response to shortly after the end of the deployment.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * usualMs * 1.4));
    await service.process.kill('SIGKILL');
    service = await start();
    const count = await countOf(project);
    seen.push(count);
    expect([0, resourceCount]).toContain(count);
  }
  for (let round = 0; round < kills; round += 1) {
    const project = `project-${round}`;
    await until(`${project} is deployed`, async () => (await deploymentOf(project)) === 'SUCCEEDED', 60_000);
    expect(await countOf(project)).toBe(resourceCount);
  }
  console.log(
    `${kills} kills: ${seen.filter((count) => count === 0).length} before the end of the transaction`,
  );
}

describe('a service that is killed while it deploys leaves all or nothing, and finishes it', () => {
  const settings = {
    BOOTSTRAP_API_KEY: 'key-for-killed-deployments',
    RATE_LIMIT_PER_MINUTE: '0',
    PAGES: 'off',
  };

  it('on SQLite', () => killWhileDeploying({ ...settings, DATA_DIR: folder.path }), 600_000);

  it.skipIf(noPostgres !== null)(
    `on PostgreSQL${noPostgres ? `: ${noPostgres}` : ''}`,
    async () => killWhileDeploying({ ...settings, DATABASE_URL: await emptyDatabase() }),
    600_000,
  );
});
