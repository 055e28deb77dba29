import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ServiceConfig } from '../../../src/platform/config/config.ts';
import {
  alertSettings,
  assertion,
  type Body,
  check,
  checks,
  type Declared,
  retryStrategy,
} from '../../helpers/clients/declared-checks.ts';
import { openHarness, type ServiceHarness } from '../../helpers/service/service.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { callProvider, smsProvider } from '../conformance/channel-receivers/phone.ts';

const channel = (type: string, config: Body, hidden: readonly string[] = []): Declared => ({
  path: 'alert-channels',
  hidden,
  body: {
    type,
    config,
    sendRecovery: true,
    sendFailure: true,
    sendDegraded: false,
    sslExpiry: true,
    sslExpiryThreshold: 22,
  },
  change: { sendDegraded: true },
});

const plain: Readonly<Record<string, Declared>> = {
  checkly_check_group: {
    path: 'check-groups',
    body: {
      name: 'Shop',
      activated: true,
      muted: false,
      tags: ['auto'],
      locations: ['eu-west-1'],
      privateLocations: [],
      concurrency: 2,
      runParallel: true,
      runtimeId: null,
      apiCheckDefaults: {
        url: 'https://shop.example.com/',
        headers: [{ key: 'X-Test', value: 'a', locked: false }],
        queryParameters: [],
        assertions: [assertion('STATUS_CODE', '200')],
        basicAuth: { username: 'user', password: '' },
      },
      environmentVariables: [{ key: 'STAGE', value: 'test', locked: false, secret: false }],
      useGlobalAlertSettings: false,
      alertSettings,
      alertChannelSubscriptions: [],
      setupSnippetId: null,
      tearDownSnippetId: null,
      localSetupScript: '',
      localTearDownScript: '',
      retryStrategy,
    },
    change: { concurrency: 3 },
  },
  'checkly_alert_channel (email)': channel('EMAIL', { address: 'on-call@shop.example.com' }),
  'checkly_alert_channel (slack)': channel('SLACK', { url: 'https://hooks.example.com/a', channel: '#ops' }),
  'checkly_alert_channel (opsgenie)': channel(
    'OPSGENIE',
    { name: 'team', apiKey: 'key', region: 'EU', priority: 'P2' },
    ['apiKey'],
  ),
  'checkly_alert_channel (pagerduty)': channel(
    'PAGERDUTY',
    { account: 'shop', serviceName: 'web', serviceKey: 'key' },
    ['serviceKey'],
  ),
  'checkly_alert_channel (webhook)': channel('WEBHOOK', {
    name: 'chat',
    url: 'https://chat.example.com/hook',
    method: 'post',
    template: '{}',
    headers: [{ key: 'X-Test', value: 'a', locked: false }],
    queryParameters: [],
    webhookSecret: '',
    webhookType: '',
  }),
  checkly_snippet: {
    path: 'snippets',
    body: { name: 'setup', script: "console.log('hi')" },
    change: { script: "console.log('again')" },
  },
  checkly_environment_variable: {
    path: 'variables',
    key: 'key',
    body: { key: 'SHOP_URL', value: 'https://shop.example.com', locked: false, secret: false },
    change: { value: 'https://new.shop.example.com' },
  },
  checkly_private_location: {
    path: 'private-locations',
    body: { name: 'Office', slugName: 'office', icon: 'location' },
    change: { name: 'New office' },
  },
  checkly_maintenance_windows: {
    path: 'maintenance-windows',
    body: {
      name: 'release',
      startsAt: '2035-08-24T00:00:00.000Z',
      endsAt: '2035-08-25T00:00:00.000Z',
      repeatInterval: 1,
      repeatUnit: 'MONTH',
      repeatEndsAt: '2036-08-24T00:00:00.000Z',
      tags: ['auto'],
    },
    // As in its documentation.
    change: { endsAt: '2035-08-24T00:00:00.000Z' },
  },
  checkly_status_page_service: {
    path: 'status-pages/services',
    body: { name: 'Checkout' },
    change: { name: 'Payment' },
  },
  checkly_dashboard: {
    path: 'dashboards',
    key: 'dashboardId',
    body: {
      customUrl: 'shop',
      customDomain: '',
      logo: '',
      favicon: '',
      link: '',
      description: 'All of it',
      header: 'Shop',
      width: 'FULL',
      refreshRate: 60,
      paginate: true,
      checksPerPage: 15,
      paginationRate: 30,
      tags: ['auto'],
      hideTags: false,
      useTagsAndOperator: false,
    },
    change: { header: 'The shop' },
  },
};

/** Resources that this test created, read, changed and deleted. */
const converged = new Set<string>();

let harness: ServiceHarness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());

async function converges(declared: Declared, { call } = harness): Promise<void> {
  const { path, body, change, hidden = [], key = 'id' } = declared;
  const query = path.startsWith('check') ? '?autoAssignAlerts=false' : '';
  const created = await call('POST', `/v1/${path}${query}`, body);
  expect([created.status, created.body]).toEqual([201, expect.anything()]);
  const id = created.body[key];
  const read = path.startsWith('checks/') ? `/v1/checks/${id}` : `/v1/${path}/${id}`;
  const one = `/v1/${path}/${id}`;
  expect((await call('GET', read)).body).toMatchObject(shown(body, hidden));
  // The same body again: only the time changes.
  const again = await call('PUT', `${one}${query}`, body);
  expect([again.status, again.body]).toEqual([200, expect.objectContaining({ [key]: id })]);
  expect((await call('GET', read)).body).toMatchObject(shown(body, hidden));
  const changed = await call('PUT', `${one}${query}`, { ...body, ...change });
  expect([changed.status, changed.body]).toEqual([200, expect.anything()]);
  expect((await call('GET', read)).body).toMatchObject(shown({ ...body, ...change }, hidden));
  expect((await call('DELETE', read)).status).toBe(204);
  expect((await call('GET', read)).status).toBe(404);
}

/**
 * A body as responses show it: without the marks of the SDK's own editor, methods in upper case, secrets as "". Go
 * reads null as an empty text.
 */
function shown(body: Body, hidden: readonly string[] = []): Body {
  return JSON.parse(JSON.stringify(body), (name, value) => {
    if (['edit', 'order', 'arrayIndex'].includes(name)) return undefined;
    if (hidden.includes(name)) return '';
    if (name === 'customDomain' && value === '') return null;
    // HTTP methods only; gRPC methods keep their case.
    return name === 'method' && !String(value).includes('/') ? String(value).toUpperCase() : value;
  }) as Body;
}

it.each(Object.entries({ ...checks, ...plain }))('%s', async (name, declared) => {
  await converges(declared);
  converged.add(name);
});

it('checkly_alert_channel (sms, call), if the service has a provider', async () => {
  const onCall = (type: string) => channel(type, { name: 'on-call', number: '+4915112345678' });
  for (const type of ['SMS', 'CALL']) {
    const { status, body } = await harness.call('POST', '/v1/alert-channels', onCall(type).body);
    expect([status, body.message]).toEqual([400, expect.stringContaining(`set ${type}_PROVIDER`)]);
  }
  const url = 'https://telephony.example.com';
  const provided = await openHarness({
    alerting: ServiceConfig.parse({ SMS_PROVIDER: smsProvider(url), CALL_PROVIDER: callProvider(url) }),
  });
  try {
    for (const type of ['SMS', 'CALL']) await converges(onCall(type), provided);
  } finally {
    await provided.close();
  }
  converged.add('checkly_alert_channel (sms, call)');
});

it('checkly_check_group_v2', async () => {
  const { call } = harness;
  const { body } = plain.checkly_check_group ?? { body: {} };
  const created = await call('POST', '/v2/check-groups', body);
  expect(created.status).toBe(201);
  const path = `/v2/check-groups/${created.body.id}`;
  expect((await call('PUT', path, body)).status).toBe(200);
  expect((await call('GET', path)).body).toMatchObject(shown(body));
  expect((await call('DELETE', path)).status).toBe(204);
  converged.add('checkly_check_group_v2');
});

it('checkly_heartbeat_monitor, whose address is kept when it is sent as empty', async () => {
  const { call } = harness;
  const { frequency: _, retryStrategy: __, locations: ___, ...common } = check('HEARTBEAT', {});
  const limits = { period: 7, periodUnit: 'days', grace: 1, graceUnit: 'days' };
  const body = { ...common, heartbeat: { ...limits, pingToken: '' } };
  const created = await call('POST', '/v1/checks/heartbeat', body);
  expect(created.status).toBe(201);
  const { pingToken, pingUrl } = created.body.heartbeat;
  expect(pingUrl).toMatch(/^https?:\/\/[^/]+\/v1\/ping\//);
  const changed = await call('PUT', `/v1/checks/heartbeat/${created.body.id}`, body);
  expect([changed.status, changed.body.heartbeat]).toMatchObject([200, { ...limits, pingToken, pingUrl }]);
  expect((await call('DELETE', `/v1/checks/${created.body.id}`)).status).toBe(204);
  converged.add('checkly_heartbeat_monitor');
});

it('checkly_trigger_check and checkly_trigger_group', async () => {
  const { call } = harness;
  const url = await call('POST', '/v1/checks/url', checks.checkly_url_monitor?.body);
  const group = await call('POST', '/v1/check-groups', { name: 'group' });
  for (const path of [`checks/${url.body.id}`, `check-groups/${group.body.id}`]) {
    const created = await call('POST', `/v1/triggers/${path}`);
    expect(created.status).toBe(201);
    expect(created.body.id).toEqual(expect.any(Number));
    expect((await call('GET', `/v1/triggers/${path}`)).body).toEqual(created.body);
    // A wrong token at the address that the SDK builds.
    const wrong = await call('GET', `/${path}/trigger/wrong`, undefined, { key: null });
    expect([wrong.status, wrong.body.message]).toEqual([404, 'This trigger does not exist.']);
    const { token } = created.body;
    // A token is valid only for its own object.
    const other = path.startsWith('checks') ? `check-groups/${group.body.id}` : `checks/${url.body.id}`;
    const foreign = await call('GET', `/${other}/trigger/${token}`, undefined, { key: null });
    expect([foreign.status, foreign.body.message]).toEqual([404, 'This trigger does not exist.']);
    // The group has no checks; the token is checked before that.
    if (path.startsWith('check-groups')) {
      const taken = await call('GET', `/${path}/trigger/${token}`, undefined, { key: null });
      expect(taken.body.message).not.toBe('This trigger does not exist.');
    }
    expect((await call('DELETE', `/v1/triggers/${path}`)).status).toBe(204);
  }
  converged.add('checkly_trigger_check').add('checkly_trigger_group');
});

it('checkly_status_page', async () => {
  const { call } = harness;
  const { id } = (await call('POST', '/v1/status-pages/services', { name: 'Checkout' })).body;
  const body = {
    name: 'Shop',
    url: 'shop-status',
    customDomain: null,
    logo: null,
    redirectTo: null,
    favicon: null,
    defaultTheme: 'AUTO',
    cards: [{ name: 'All', services: [{ id }] }],
  };
  await converges({ path: 'status-pages', body, change: { name: 'The shop' } });
  converged.add('checkly_status_page');
});

it('checkly_client_certificate', async () => {
  const issued = await (await createAuthority()).issue();
  const { call } = harness;
  const created = await call('POST', '/v1/client-certificates', { host: 'shop.example.com', ...issued });
  expect(created.status).toBe(201);
  const path = `/v1/client-certificates/${created.body.id}`;
  expect((await call('GET', path)).body).toMatchObject({ host: 'shop.example.com' });
  expect((await call('DELETE', path)).status).toBe(204);
  converged.add('checkly_client_certificate');
});

it('refuses a location that does not exist, and accepts a slash after a path', async () => {
  const { call } = harness;
  const { id } = (await call('POST', '/v1/checks/url', checks.checkly_url_monitor?.body)).body;
  for (const path of [`check-results/${id}`, `checks/${id}/slots`]) {
    const wrong = await call('GET', `/v1/${path}?location=mars`);
    expect([wrong.status, wrong.body.validation]).toEqual([400, { source: 'query', keys: ['location'] }]);
    expect((await call('GET', `/v1/${path}?location=us-east-1`)).status).toBe(200);
  }
  expect((await call('GET', '/v1/checks/')).body).toEqual(expect.arrayContaining([expect.anything()]));
  const other = await call('PUT', `/v1/checks/tcp/${id}`, { name: 'x' });
  expect([other.status, other.body.message]).toEqual([404, expect.stringContaining('/v1/checks/url/')]);
});

it('the reference lists the findings for each resource', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/clients.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `(checkly_\w+)`( \([^)]+\))? \| (\w+) \|/gm)];
  const said = (works: string) =>
    rows.flatMap(([, name, kind = '', word]) => (word === works ? [`${name}${kind}`] : [])).sort();
  expect(said('yes')).toEqual([...converged].sort());
  expect(said('no')).toEqual([]);
});
