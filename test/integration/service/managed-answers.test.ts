import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ResourceApi } from '../../../src/protocol/http/resource.ts';
import { idOf, type Kind } from '../../../src/protocol/projects/kind.ts';
import { kinds } from '../../../src/protocol/projects/kinds.ts';
import { resources as registry } from '../../../src/service/resources/index.ts';
import { openHarness, type ServiceHarness } from '../../helpers/service/service.ts';
import { loggedIn } from '../../helpers/service/visitor.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { sampleOf } from '../conformance/resource-samples/resource-sample.ts';

let harness: ServiceHarness;
beforeAll(async () => {
  harness = await openHarness();
  harness.startDeployments();
});
afterAll(() => harness.close());

const windowFields = {
  startsAt: '2035-08-24T00:00:00.000Z',
  endsAt: '2035-08-25T00:00:00.000Z',
  tags: ['shop'],
};
const request = { url: 'https://shop.example.com/', method: 'GET' };
const cards = [{ name: 'All', services: [{ ref: 'web' }] }];
const { cert, key } = await (await createAuthority()).issue();
const written = [
  { type: 'private-location', payload: { name: 'Office', slugName: 'office' } },
  { type: 'alert-channel', payload: { type: 'EMAIL', config: { address: 'on-call@shop.example.com' } } },
  { type: 'check-group', payload: { name: 'Shop' } },
  {
    type: 'check',
    payload: { checkType: 'URL', name: 'Home page', groupId: { ref: 'check-group' }, request },
  },
  { type: 'status-page-service', logicalId: 'web', payload: { name: 'Web' } },
  { type: 'status-page', payload: { name: 'Shop', url: 'shop', cards } },
  { type: 'status-page', logicalId: 'parts', payload: { name: 'Parts', url: 'parts', version: 3 } },
  {
    type: 'status-page-component',
    payload: { name: 'Web', statusPageId: { ref: 'parts' } },
  },
  {
    type: 'status-page-automation-rule',
    payload: {
      ...{ name: 'Down', statusPageId: { ref: 'parts' }, tags: ['shop'], firstUpdate: 'a', lastUpdate: 'b' },
      components: [{ componentId: { ref: 'status-page-component' }, targetImpact: 'MAJOR_OUTAGE' }],
    },
  },
  { type: 'maintenance-window', payload: { name: 'Release', ...windowFields } },
  { type: 'dashboard', payload: { header: 'Shop', customUrl: 'shop' } },
  { type: 'variable', payload: { key: 'CURRENCY', value: 'EUR' } },
  { type: 'client-certificate', payload: { host: '*.shop.example.com', cert, key } },
];
/** Plain resources without a body above: from their samples. */
const others = await Promise.all(
  Object.entries(registry).flatMap(([name, { api }]) => {
    const kind = kinds.find(({ routes }) => routes === (api as ResourceApi).routes);
    if (!kind || written.some(({ type }) => type === kind.type)) return [];
    return [
      sampleOf(name, api as ResourceApi).then(({ bodies: [payload] }) => ({ type: kind.type, payload })),
    ];
  }),
);
const resources = [...written, ...others].map((one) => ({ logicalId: one.type as string, ...one }));

it('responses name the project of managed resources and their name there, and nothing for others', async () => {
  const { call } = harness;
  const own = await call('POST', '/v1/checks/url', { name: 'Own', request: { url: request.url } });
  const project = { logicalId: 'shop', name: 'Shop' };
  const started = await call('POST', '/v1/projects/deploy', { project, resources });
  expect([started.status, started.body.message]).toEqual([202, undefined]);
  const ended = await call('GET', `/v1/projects/shop/deployments/${started.body.id}/completion`);
  expect(ended.body).toMatchObject({ status: 'SUCCEEDED' });
  expect(kinds.filter(({ type }) => !resources.some((one) => one.type === type))).toEqual([]);
  for (const { type, logicalId } of resources) {
    const kind = kinds.find((one) => one.type === type) as Kind;
    const { body } = await call('GET', kind.routes.list.path);
    const all = Array.isArray(body) ? body : body.entries;
    const shown = all.find((one: { logicalId?: string }) => one.logicalId === logicalId);
    expect(shown, type).toMatchObject({ project, logicalId });
    const one = await call('GET', kind.routes.get.path.replace(/\{\w+\}/, String(idOf(kind, shown))));
    expect(one.body, type).toMatchObject({ project, logicalId });
    // A body from a response can be sent back.
    if (type !== 'check') continue;
    const changed = await call('PUT', `/v1/checks/url/${shown.id}`, { ...one.body, name: 'Changed' });
    expect([changed.status, changed.body]).toEqual([200, expect.objectContaining({ project, logicalId })]);
    const ofGroup = await call('GET', `/v1/check-groups/${shown.groupId}/checks`);
    expect(ofGroup.body).toMatchObject([{ project, logicalId }]);
  }
  const visitor = await loggedIn(harness);
  const checks: { id: string; logicalId?: string }[] = (await call('GET', '/v1/checks')).body;
  const home = checks.find(({ logicalId }) => logicalId === 'check');
  for (const page of [`/checks/${home?.id}`, '/settings/variables/CURRENCY/details']) {
    expect((await visitor.get(page)).body).toMatch(
      /Managed by the project .*Shop.* as <code>(check|variable)</,
    );
  }
  expect((await visitor.get(`/checks/${own.body.id}`)).body).not.toContain('Managed by');
  const { body } = await call('GET', `/v1/checks/${own.body.id}`);
  expect([body.project, body.logicalId]).toEqual([undefined, undefined]);
  // Kept, but no longer part of a project.
  await call('DELETE', '/v1/projects/shop?preserveResources=true');
  await expect
    .poll(async () => (await call('GET', '/v1/check-groups')).body, { timeout: 90_000 })
    .toEqual([expect.not.objectContaining({ logicalId: expect.anything() })]);
});
