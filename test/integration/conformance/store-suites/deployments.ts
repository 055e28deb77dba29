import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { type Answer, until } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

type Resource = Readonly<Record<string, unknown>>;
interface Change {
  readonly type: string;
  readonly logicalId: string;
  readonly action: string;
  readonly physicalId?: string | number;
}

const ref = (name: string) => ({ ref: name });
const resource = (type: string, logicalId: string, payload: object): Resource => ({
  type,
  logicalId,
  payload,
});

/** A project with a resource of every type. */
export const everything: readonly Resource[] = [
  resource('status-page-service', 'service', { name: 'Shop' }),
  resource('status-page', 'page', {
    name: 'Status',
    url: 'deployed-status',
    cards: [{ name: 'All', services: [ref('service')] }],
  }),
  resource('check-group', 'group', { name: 'Group', locations: [], tags: ['g'], v: 2 }),
  resource('check', 'home', {
    checkType: 'API',
    name: 'Home',
    groupId: ref('group'),
    frequency: 10,
    locations: ['eu-central-1'],
    environmentVariables: [{ key: 'TOKEN', value: 'hidden-1', locked: true }],
    request: { url: 'http://target.test/', method: 'GET', headers: [], assertions: [] },
  }),
  resource('check', 'beat', {
    checkType: 'HEARTBEAT',
    name: 'Beat',
    heartbeat: { period: 1, periodUnit: 'hours', grace: 1, graceUnit: 'minutes' },
  }),
  resource('check', 'spec', {
    checkType: 'BROWSER',
    name: 'Spec',
    script: 'import "./part";',
    scriptPath: 'checks/spec.ts',
    dependencies: [0],
    parentCheckIds: [ref('home')],
  }),
  resource('alert-channel', 'hook', {
    type: 'WEBHOOK',
    config: { name: 'Hook', url: 'http://receiver.test/', method: 'POST', webhookSecret: 'hidden-2' },
  }),
  resource('alert-channel-subscription', 'home#hook', {
    alertChannelId: ref('hook'),
    checkId: ref('home'),
    activated: true,
  }),
  resource('maintenance-window', 'window', {
    name: 'Window',
    tags: ['g'],
    startsAt: '2031-01-01T00:00:00.000Z',
    endsAt: '2031-01-01T01:00:00.000Z',
  }),
  resource('private-location', 'office', { name: 'Office', slugName: 'office', icon: 'home' }),
  resource('private-location-check-assignment', 'home#office', {
    privateLocationId: ref('office'),
    checkId: ref('home'),
  }),
  resource('private-location-group-assignment', 'group#office', {
    privateLocationId: ref('office'),
    groupId: ref('group'),
  }),
  resource('dashboard', 'board', { header: 'Board', tags: ['g'], customUrl: 'deployed-board' }),
];

const sharedFiles = [{ path: 'checks/part.ts', content: 'export const part = 1;' }];

/** Projects whose resources are written by deployments. */
export function deploymentSuite(stage: StoreStage): void {
  const body = (resources: readonly Resource[], name = 'Project') => ({
    project: { logicalId: 'project', name, repoUrl: null },
    sharedFiles,
    resources,
    repoInfo: null,
  });
  const call = (...args: Parameters<typeof stage.harness.call>) => stage.harness.call(...args);
  const preview = async (resources: readonly Resource[], query = ''): Promise<Change[]> => {
    const answer = await call('POST', `/v1/projects/deploy?dryRun=true${query}`, body(resources));
    expect([answer.status, answer.body.message]).toEqual([200, undefined]);
    return answer.body.diff;
  };
  const ended = (...args: Parameters<typeof stage.deploymentEnded>) => stage.deploymentEnded(...args);
  const deploy = async (resources: readonly Resource[], query = ''): Promise<Change[]> => {
    const started = await call('POST', `/v1/projects/deploy?scheduleOnDeploy=false${query}`, body(resources));
    const deployment = await ended(started);
    expect([deployment.status, deployment.error]).toEqual(['SUCCEEDED', null]);
    return deployment.result.diff;
  };
  const changed = (resources: readonly Resource[], logicalId: string, change: object) =>
    resources.map((one) =>
      one.logicalId === logicalId ? { ...one, payload: { ...(one.payload as object), ...change } } : one,
    );
  const start = async () => {
    await stage.start();
    stage.harness.startDeployments();
  };
  const locationNames = async () =>
    (await call('GET', '/v1/private-locations')).body.map(({ slugName }: { slugName: string }) => slugName);
  /** Waits until the metrics of the account contain the line. */
  const isCounted = (line: string) =>
    until(line, async () => {
      const { body: text } = await call('GET', '/metrics');
      return text.split('\n').includes(line.replace('{', `{account="${stage.harness.accountId}",`));
    });
  const named = (diff: readonly Change[], action: string) =>
    diff.filter((one) => one.action === action).map(({ type, logicalId }) => `${type} ${logicalId}`);

  it('shows what a deployment would create, and creates nothing', async () => {
    await start();
    const diff = await preview(everything);
    const created = everything.filter(({ type }) => !String(type).endsWith('-assignment'));
    expect(named(diff, 'CREATE').sort()).toEqual(
      created.map(({ type, logicalId }) => `${type} ${logicalId}`).sort(),
    );
    expect(diff.every(({ physicalId }) => physicalId === undefined)).toBe(true);
    expect((await call('GET', '/v1/checks')).body).toEqual([]);
    expect((await call('GET', '/next/projects')).body).toEqual([]);
    const log = await call('GET', '/v1/audit-log');
    expect(JSON.stringify(log.body)).not.toContain('deployProject');
  });

  it('creates every type, finds no further changes, applies changes of the code, and deletes everything', async () => {
    await start();
    const diff = await deploy(everything);
    const ids = new Map(diff.map(({ type, logicalId, physicalId }) => [`${type} ${logicalId}`, physicalId]));
    const home = (await call('GET', `/v1/checks/${ids.get('check home')}`)).body;
    expect(home).toMatchObject({
      name: 'Home',
      groupId: ids.get('check-group group'),
      privateLocations: ['office'],
      locations: ['eu-central-1'],
      alertChannelSubscriptions: [{ alertChannelId: ids.get('alert-channel hook'), activated: true }],
    });
    const spec = (await call('GET', `/v1/checks/${ids.get('check spec')}`)).body;
    expect(spec).toMatchObject({ dependencies: sharedFiles, parentCheckIds: [home.id] });
    const page = (await call('GET', `/v1/status-pages/${ids.get('status-page page')}`)).body;
    expect(page.cards[0].services[0]).toMatchObject({
      id: ids.get('status-page-service service'),
      name: 'Shop',
    });
    const group = (await call('GET', `/v1/check-groups/${ids.get('check-group group')}`)).body;
    expect(group).toMatchObject({ name: 'Group', privateLocations: ['office'] });

    expect(await preview(everything)).toEqual([]);
    const before = (await call('GET', `/v1/checks/${ids.get('check beat')}`)).body;
    expect(await deploy(everything)).toEqual([]);

    const another = changed(
      changed(changed(everything, 'home', { name: 'House' }), 'page', { name: 'State' }),
      'board',
      { header: 'Wall' },
    );
    expect(named(await preview(another), 'UPDATE').sort()).toEqual([
      'check home',
      'dashboard board',
      'status-page page',
    ]);
    await deploy(another);
    const house = (await call('GET', `/v1/checks/${home.id}`)).body;
    expect(house).toEqual({ ...home, name: 'House', updated_at: house.updated_at });
    const sameCards = (await call('GET', `/v1/status-pages/${page.id}`)).body.cards;
    expect(sameCards[0].id).toBe(page.cards[0].id);
    expect((await call('GET', `/v1/checks/${ids.get('check beat')}`)).body).toEqual(before);

    // Changes that users make meanwhile are overwritten.
    await call('PUT', `/v1/checks/${home.id}`, { frequency: 60, frequencyOffset: 1 });
    expect(named(await preview(another), 'UPDATE')).toEqual(['check home']);

    const destroyed = await ended(
      await call('DELETE', '/v1/projects/project?preserveResources=false&dryRun=false'),
    );
    expect(destroyed).toMatchObject({ status: 'SUCCEEDED', error: null });
    expect(named(destroyed.result.diff, 'DELETE')).toHaveLength(diff.length);
    expect(await locationNames()).toEqual(['lab']);
    for (const path of [
      '/v1/checks',
      '/v1/check-groups',
      '/v1/alert-channels',
      '/v1/dashboards',
      '/v1/maintenance-windows',
      '/next/projects',
    ]) {
      expect([path, (await call('GET', path)).body]).toEqual([path, []]);
    }
    const again = await call('DELETE', '/v1/projects/project');
    expect([again.status, again.body]).toEqual([200, { diff: [] }]);
  });

  it('deletes what left the code, or leaves it to the account', async () => {
    await start();
    await deploy(everything);
    const without = everything.filter(({ logicalId }) => !['spec', 'board'].includes(String(logicalId)));
    expect(named(await preview(without), 'DELETE').sort()).toEqual(['check spec', 'dashboard board']);
    expect(named(await preview(without, '&preserveResources=true'), 'DETACHED')).toHaveLength(2);
    await deploy(without, '&preserveResources=true');
    expect((await call('GET', '/v1/dashboards')).body).toHaveLength(1);
    expect(await preview(without)).toEqual([]);
    const fewer = without.filter(({ logicalId }) => !['beat', 'home#hook'].includes(String(logicalId)));
    expect(named(await deploy(fewer), 'DELETE').sort()).toEqual([
      'alert-channel-subscription home#hook',
      'check beat',
    ]);
    const names = (await call('GET', '/v1/checks')).body.map(({ name }: { name: string }) => name);
    expect(names.sort()).toEqual(['Home', 'Spec']);
    const channel = (await call('GET', '/v1/alert-channels')).body[0];
    expect(channel.subscriptions).toEqual([]);
  });

  it('changes nothing when one resource is refused by its own operation', async () => {
    await start();
    const taken = { name: 'Other', url: 'deployed-status', cards: [] };
    expect((await call('POST', '/v1/status-pages', taken)).status).toBe(201);
    const started = await call('POST', '/v1/projects/deploy', body(everything));
    const deployment = await ended(started);
    expect(deployment).toMatchObject({ status: 'FAILED', result: null });
    expect(deployment.error.message).toMatch(/^status-page "page": .*already used/);
    expect((await call('GET', '/v1/checks')).body).toEqual([]);
    expect(await locationNames()).toEqual(['lab']);
    expect((await call('GET', '/next/projects')).body).toEqual([]);
    await isCounted('picket_deployments_total{outcome="failed"} 1');
  });

  it('allows one deployment of a project at a time, which can be cancelled', async () => {
    await stage.start(); // No worker handles it yet.
    const first = await call('POST', '/v1/projects/deploy', body(everything));
    const second = await call('POST', '/v1/projects/deploy', body(everything));
    expect([second.status, second.body.deploymentId]).toEqual([409, first.body.id]);
    const path = `/v1/projects/project/deployments/${first.body.id}`;
    expect((await call('GET', `${path}/completion?maxWaitSeconds=0`)).status).toBe(408);
    await isCounted('picket_deployments_live{status="pending"} 1');
    const cancelled = await call('POST', `${path}/cancel`);
    expect(cancelled.body).toMatchObject({ status: 'CANCELLED', result: null });
    stage.harness.startDeployments();
    expect(await deploy(everything)).not.toEqual([]);
    await isCounted('picket_deployments_total{outcome="succeeded"} 1');
    expect((await call('GET', `${path}/completion`)).body.status).toBe('CANCELLED');
    const stranger = await stage.harness.addAccount();
    expect((await call('GET', path, undefined, { key: stranger.key })).status).toBe(404);
    expect((await call('POST', `${path}/cancel`, undefined, { key: stranger.key })).status).toBe(404);
  });

  it('is restarted by another process when its own is lost', async () => {
    await stage.start();
    const { store, clock } = stage.harness;
    const { body: started } = await call('POST', '/v1/projects/deploy', body(everything));
    const now = clock.wallMs();
    const taken = await store.transaction(({ deployments }) => deployments.claim('lost', now, now + 1_000));
    expect(taken?.id).toBe(started.id);
    const none = await store.transaction(({ deployments }) => deployments.claim('other', now, now + 1_000));
    expect(none).toBeUndefined();
    stage.clock.advance(1_001);
    stage.harness.startDeployments();
    expect((await ended({ status: 202, body: started } as Answer)).status).toBe('SUCCEEDED');
    const late = { status: 'SUCCEEDED', ended: now } as const;
    expect(await store.deployments.end(started.id, 'lost', late)).toBe(false);
  });

  it('refuses bundles that unpack to 50 MB, and keeps nothing of them', async () => {
    await stage.start();
    const { app, key } = stage.harness;
    const large = { path: 'large.ts', content: 'x'.repeat(1_000_000) };
    const files = Array.from({ length: 50 }, (_, at) => ({ ...large, path: `large-${at}.ts` }));
    const payload = gzipSync(JSON.stringify({ ...body([]), sharedFiles: files }));
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-encoding': 'gzip',
    };
    const send = (what: Buffer) =>
      app.inject({ method: 'POST', url: '/v1/projects/deploy?dryRun=true', headers, payload: what });
    expect(payload.length).toBeLessThan(1_000_000);
    expect((await send(payload)).statusCode).toBe(413);
    expect((await send(Buffer.from('no gzip'))).statusCode).toBe(400);
    expect((await send(gzipSync(JSON.stringify(body(everything))))).statusCode).toBe(200);
    expect((await call('GET', '/next/projects')).body).toEqual([]);
  });

  it('names every refused resource and field at once', async () => {
    await start();
    const wrong = changed(changed(everything, 'home', { frequency: 7 }), 'beat', { heartbeat: null, nme: 1 });
    const refused = await call('POST', '/v1/projects/deploy', body(wrong));
    expect(refused.status).toBe(400);
    expect(refused.body.validation.keys).toEqual(
      expect.arrayContaining(['resources.3.payload.frequency', 'resources.4.payload.nme']),
    );
    expect(refused.body.message).toContain('check "home": "frequency" must be one of');
    expect((await call('GET', '/next/projects')).body).toEqual([]);
  });

  it('creates a project from existing resources, by an import', async () => {
    await start();
    await deploy(everything);
    await ended(await call('DELETE', '/v1/projects/project?preserveResources=true'));
    await call('POST', '/next/projects', { logicalId: 'project', name: 'Project' });
    expect((await call('POST', '/next/projects', { logicalId: 'project', name: 'x' })).status).toBe(409);
    const path = '/next/projects/project/imports';
    const filters = [{ type: 'exclude' }, { type: 'include', resource: { type: 'check' } }];
    const previewed = await call('POST', `${path}?preview=true`, { filters });
    expect(previewed.body.changes.resources.map(({ logicalId }: Change) => logicalId).sort()).toEqual(
      expect.arrayContaining(['beat', 'home', 'spec']),
    );
    expect((await call('GET', path)).body).toEqual([]);
    const { body: plan } = await call('POST', path, { filters });
    const home = plan.changes.resources.find(({ logicalId }: Change) => logicalId === 'home');
    expect(home.payload).toMatchObject({ name: 'Home', checkType: 'API' });
    const beat = plan.changes.resources.find(({ logicalId }: Change) => logicalId === 'beat');
    expect(new URL(beat.payload.heartbeat.pingUrl).protocol).toMatch(/^https?:$/);
    const one = `/next/projects/imports/${plan.id}`;
    expect((await call('POST', `${one}/commit`)).status).toBe(403);
    expect((await call('POST', `${one}/apply`)).status).toBe(200);
    expect((await call('POST', `${one}/apply`)).status).toBe(403);
    // Nothing is deleted before the commit.
    expect(named(await preview([]), 'DELETE')).toEqual([]);
    expect((await call('GET', `${path}?onlyUnapplied=true`)).body).toEqual([]);
    expect((await call('GET', '/next/projects/imports?onlyUncommitted=true')).body).toHaveLength(1);
    expect((await call('POST', `${one}/commit`)).status).toBe(200);
    expect((await call('DELETE', one)).status).toBe(403);
    expect(named(await preview([]), 'DELETE')).toEqual(
      expect.arrayContaining(['check beat', 'check home', 'check spec']),
    );
    const again = await call('POST', path, { filters });
    expect([again.status, again.body.message]).toEqual([404, 'No importable resources were found.']);
    const stranger = await stage.harness.addAccount();
    expect((await call('DELETE', one, undefined, { key: stranger.key })).status).toBe(404);
  });

  it('refers to resources of its own account only, without owning them', async () => {
    await start();
    const foreign = await stage.harness.addAccount();
    const asForeign = { key: foreign.key };
    const made = await call('POST', '/v1/check-groups', { name: 'theirs' }, asForeign);
    const own = await call('POST', '/v1/check-groups', { name: 'ours' });
    const inGroup = (physicalId: number) => [
      { type: 'check-group', logicalId: 'named', member: false, physicalId, payload: null },
      ...changed(everything, 'home', { groupId: ref('named') }),
    ];
    const refused = await call('POST', '/v1/projects/deploy', body(inGroup(made.body.id)));
    expect([refused.status, refused.body.message]).toEqual([
      400,
      `check-group "named": "physicalId" names no check-group of the account: ${made.body.id}`,
    ]);
    await deploy(inGroup(own.body.id));
    expect(await preview(inGroup(own.body.id))).toEqual([]);
    await ended(await call('DELETE', '/v1/projects/project'));
    expect((await call('GET', '/v1/check-groups')).body.map(({ name }: { name: string }) => name)).toEqual([
      'ours',
    ]);
  });
}
