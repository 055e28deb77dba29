import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { type KindName, kinds } from '../../../../src/protocol/projects/kinds.ts';
import { resources } from '../../../../src/service/resources/index.ts';
import { createAuthority } from '../../../helpers/targets/certificates.ts';
import type { StoreStage } from './stage.ts';

type Body = Readonly<Record<string, unknown>>;

interface Refusal {
  readonly kind: KindName | 'alert-channel-subscription' | 'deletion';
  readonly what: string;
  /** The refused resource, and the resources that it refers to. */
  readonly resources: readonly {
    readonly type: string;
    readonly logicalId: string;
    readonly payload: Body;
  }[];
}

const unknownId = randomUUID();
const unknownNumber = 987_654;
const monitor = { checkType: 'URL', name: 'Home', request: { url: 'http://shop.test/' } };
const one = (type: KindName | 'alert-channel-subscription', what: string, payload: Body): Refusal => ({
  kind: type,
  what,
  resources: [{ type, logicalId: 'refused', payload }],
});

/** Errors that depend on the state of the account, at least one for each kind. */
async function refusals(): Promise<readonly Refusal[]> {
  const authority = await createAuthority();
  const [first, second] = [await authority.issue(), await authority.issue()];
  const page = { name: 'Page', cards: [] };
  const components = {
    type: 'status-page',
    logicalId: 'components',
    payload: { name: 'Components', url: 'components', version: 3 },
  };
  return [
    one('private-location', 'a slug that is taken', { name: 'Lab', slugName: 'lab' }),
    one('alert-channel', 'a type that is not possible here', {
      type: 'SMS',
      config: { name: 'Phone', number: '+4915112345678' },
    }),
    one('variable', 'a key that is taken', { key: 'TAKEN', value: 'x' }),
    one('client-certificate', 'a key of another certificate', {
      host: 'a.test',
      cert: first.cert,
      key: second.key,
    }),
    one('status-page', 'an address that is taken', { ...page, url: 'taken' }),
    one('status-page', 'a service that there is not', {
      ...{ name: 'Page', url: 'page' },
      cards: [{ name: 'Card', services: [{ id: unknownId }] }],
    }),
    {
      kind: 'status-page-component',
      what: 'a parent that is no group',
      resources: [
        components,
        {
          type: 'status-page-component',
          logicalId: 'parent',
          payload: { statusPageId: { ref: 'components' }, name: 'Parent', type: 'COMPONENT' },
        },
        {
          type: 'status-page-component',
          logicalId: 'refused',
          payload: {
            ...{ statusPageId: { ref: 'components' }, name: 'Child', type: 'COMPONENT' },
            parentId: { ref: 'parent' },
          },
        },
      ],
    },
    {
      kind: 'status-page-automation-rule',
      what: 'a component that there is not',
      resources: [
        components,
        {
          type: 'status-page-automation-rule',
          logicalId: 'refused',
          payload: {
            ...{ statusPageId: { ref: 'components' }, name: 'Rule', tags: ['g'] },
            components: [{ componentId: unknownId, targetImpact: 'MAJOR_OUTAGE' }],
          },
        },
      ],
    },
    one('check-group', 'a channel that there is not', {
      name: 'Group',
      alertChannelSubscriptions: [{ alertChannelId: unknownNumber, activated: true }],
    }),
    one('check-group', 'a location that there is not', { name: 'Group', privateLocations: ['mars'] }),
    one('check', 'a group that there is not', { ...monitor, groupId: unknownNumber }),
    one('check', 'a location that there is not', { ...monitor, privateLocations: ['mars'] }),
    one('check', 'a channel that there is not', {
      ...monitor,
      alertChannelSubscriptions: [{ alertChannelId: unknownNumber, activated: true }],
    }),
    one('check', 'a parent that there is not', { ...monitor, parentCheckIds: [unknownId] }),
    one('dashboard', 'an address that is taken', { header: 'Board', tags: ['g'], customUrl: 'taken-board' }),
    one('slo', 'a check that there is not', { name: 'SLO', target: 99.9, checkId: unknownId }),
    one('alert-channel-subscription', 'a channel that there is not', {
      ...{ alertChannelId: unknownNumber, checkId: unknownId, activated: true },
    }),
  ];
}

const plain: ReadonlySet<unknown> = new Set(Object.values(resources).map(({ api }) => api.routes));
/** Kinds with errors in their own payload only. Plain resources with other errors have their cases above. */
const judgedByPayload = kinds.flatMap(({ type, routes }) =>
  type === 'status-page-service' || plain.has(routes) ? [type] : [],
);

/** A dry run refuses what the deployment itself refuses, with the same message. */
export function deployedRefusalSuite(stage: StoreStage): void {
  const call = (...args: Parameters<typeof stage.harness.call>) => stage.harness.call(...args);

  it('refuses in a dry run what the deployment refuses, of every kind, and changes nothing', async () => {
    await stage.start();
    stage.harness.startDeployments();
    const make = async (path: string, body: Body) => {
      const answer = await call('POST', `/v1/${path}`, body);
      expect(answer.status, JSON.stringify(answer.body)).toBe(201);
      return answer.body;
    };
    await make('variables', { key: 'TAKEN', value: 'x' });
    await make('status-pages', { name: 'Page', url: 'taken', cards: [] });
    await make('dashboards', { header: 'Board', tags: ['g'], customUrl: 'taken-board' });
    const project = { logicalId: 'project', name: 'Project', repoUrl: null };
    const cases = await refusals();
    const covered = new Set([...cases.map(({ kind }) => kind), ...judgedByPayload]);
    expect(kinds.filter(({ type }) => !covered.has(type))).toEqual([]);
    const wrong: string[] = [];
    for (const { kind, what, resources } of cases) {
      const body = { project, sharedFiles: [], resources, repoInfo: null };
      const dry = await call('POST', '/v1/projects/deploy?dryRun=true', body);
      const real = await call('POST', '/v1/projects/deploy?scheduleOnDeploy=false', body);
      const ended =
        real.status === 202 ? (await stage.deploymentEnded(real)).error?.message : real.body.message;
      const isSame = dry.status >= 400 && dry.status < 500 && dry.body.message === ended;
      if (!isSame) wrong.push(`${kind}, ${what}: ${dry.status} ${dry.body.message}; deployed: ${ended}`);
    }
    expect(wrong).toEqual([]);
    expect((await call('GET', '/next/projects')).body).toEqual([]);
    expect((await call('GET', '/v1/checks')).body).toEqual([]);
  });

  it('refuses in a dry run to remove what others need, like the deployment', async () => {
    await stage.start();
    stage.harness.startDeployments();
    const resource = (type: string, logicalId: string, payload: Body) => ({ type, logicalId, payload });
    const deploy = (resources: readonly object[], query: string) =>
      call('POST', `/v1/projects/deploy?${query}`, {
        project: { logicalId: 'project', name: 'Project' },
        ...{ sharedFiles: [], resources },
      });
    const office = resource('private-location', 'office', { name: 'Office', slugName: 'office' });
    await stage.deploymentEnded(await deploy([office], 'scheduleOnDeploy=false'));
    const check = await call('POST', '/v1/checks/url', {
      ...monitor,
      checkType: undefined,
      privateLocations: ['office'],
    });
    expect(check.status).toBe(201);
    const [dry, real] = [await deploy([], 'dryRun=true'), await deploy([], 'scheduleOnDeploy=false')];
    const { error } = await stage.deploymentEnded(real);
    expect([dry.status, dry.body.message]).toEqual([409, error?.message]);
    expect(dry.body.message).toContain('private-location "office"');
    const whole = await call('DELETE', '/v1/projects/project?dryRun=true');
    expect([whole.status, whole.body.message]).toEqual([409, dry.body.message]);
    expect((await call('GET', '/v1/private-locations')).body).toHaveLength(2);
  });
}
