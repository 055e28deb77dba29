import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { yamlText } from '../../../src/cli/project/files.ts';
import { problemsOf } from '../../../src/cli/project/validate.ts';
import { importGatus } from '../../../src/extras/importers/gatus/gatus.ts';
import { silentFields } from '../../helpers/cli/sources.ts';

// A file with every setting in Gatus' documentation, and 200 endpoints of all kinds.
const alerts = [
  {
    type: 'slack',
    'failure-threshold': 2,
    'send-on-resolved': true,
    'success-threshold': 1,
    description: 'down',
  },
  { type: 'pagerduty', enabled: false, 'minimum-reminder-interval': '10m' },
  { type: 'twilio' },
];
const client = {
  ...{
    insecure: true,
    'ignore-redirect': true,
    timeout: '20s',
    network: 'ip6',
    'dns-resolver': 'tcp://8.8.8.8:53',
  },
  oauth2: { 'token-url': 'https://id.example.com', 'client-id': 'c', 'client-secret': 's', scopes: ['a'] },
  ...{
    'proxy-url': 'http://proxy:80',
    tls: { 'certificate-file': 'a.crt', 'private-key-file': 'a.key' },
    tunnel: 't',
  },
};
const http = {
  ...{
    name: 'site',
    group: 'core',
    url: 'https://example.com/a',
    method: 'POST',
    interval: '2m',
    graphql: true,
  },
  ...{ body: '{ a }', headers: { Accept: 'text/html', Authorization: 'Bearer hidden' } },
  conditions: [
    ...[
      '[STATUS] == 200',
      '[STATUS] <= 299',
      '[RESPONSE_TIME] < 300',
      '[BODY] == pat(*ok*)',
      '[BODY].a.b == UP',
    ],
    ...[
      'len([BODY].list) > 3',
      'has([BODY].data.x) == true',
      '[CERTIFICATE_EXPIRATION] > 48h',
      '[IP] == 192.0.2.1',
    ],
    ...['[STATUS] == any(200, 429)', '[DOMAIN_EXPIRATION] > 720h', '[BODY] == pat(a?c*)'],
  ],
  alerts,
  client,
  ui: { 'hide-url': true, badge: { 'response-time': { thresholds: [50, 200] } } },
  ...{ 'extra-labels': { team: 'shop' }, 'maintenance-windows': [{ start: '04:00', duration: '1h' }] },
};
const endpoints: readonly Readonly<Record<string, unknown>>[] = [
  http,
  {
    name: 'off',
    url: 'http://example.com',
    enabled: false,
    conditions: ['[RESPONSE_TIME] < 5s'],
    alerts: [{ type: 'slack' }],
  },
  {
    name: 'resolver',
    url: '8.8.8.8',
    dns: { 'query-name': 'example.com', 'query-type': 'A' },
    interval: '90s',
    conditions: ['[DNS_RCODE] == NOERROR', '[BODY] == 192.0.2.1'],
  },
  {
    name: 'port',
    url: 'tcp://example.com:25',
    body: 'EHLO',
    interval: '30s',
    conditions: ['[CONNECTED] == true', '[BODY] == pat(*220*)'],
  },
  { name: 'closed', url: 'tcp://example.com:1', conditions: ['[CONNECTED] == false'] },
  {
    name: 'tls',
    url: 'tls://example.com:443',
    conditions: ['[CERTIFICATE_EXPIRATION] > 72h'],
    client: { insecure: true },
  },
  {
    name: 'ping',
    url: 'icmp://example.com',
    method: 'GET',
    conditions: ['[RESPONSE_TIME] < 100', '[CONNECTED] == true'],
  },
  {
    name: 'ssh',
    url: 'ssh://example.com:22',
    ssh: { username: 'u', password: 'hidden' },
    conditions: ['[CONNECTED] == true'],
  },
  {
    name: 'mail',
    url: 'starttls://mail.example.com:587',
    client: { insecure: true, network: 'ip6', timeout: '5s' },
    conditions: ['[CONNECTED] == true', '[CERTIFICATE_EXPIRATION] > 48h', '[IP] == ::1'],
  },
  ...['udp', 'sctp', 'domain'].map((scheme) => ({
    name: scheme,
    url: `${scheme}://example.com:1`,
    conditions: ['[CONNECTED] == true'],
  })),
  {
    ...{ name: 'socket', url: 'wss://example.com/live', body: 'ping', headers: { Authorization: 'hidden' } },
    conditions: ['[BODY].state == up', '[BODY] == pat(*up*)'],
    client: { insecure: true, timeout: '20s' },
  },
  { name: 'listener', url: 'ws://example.com', conditions: ['[CONNECTED] == true'] },
  {
    ...{
      name: 'calls',
      url: 'grpcs://example.com:443',
      conditions: ['[BODY].status == SERVING', '[BODY] == x'],
    },
  },
  {
    name: 'game',
    url: 'udp://example.com:27015',
    body: 'hello',
    conditions: ['[BODY] == hi'],
    method: 'PUT',
  },
];
const configuration = {
  ...{ metrics: true, debug: true, concurrency: 5, 'skip-invalid-config-update': true },
  ...{
    web: { port: 80 },
    ui: { title: 't' },
    storage: { type: 'sqlite', path: 'x' },
    remote: { instances: [{ url: 'u' }] },
  },
  ...{ security: { basic: { username: 'u' } }, connectivity: { checker: { target: '1.1.1.1:53' } } },
  ...{ announcements: [{ message: 'm' }], suites: [{ name: 's', endpoints: [] }] },
  alerting: {
    slack: {
      'webhook-url': 'https://hooks.slack.com/hidden',
      'default-alert': { 'failure-threshold': 3, enabled: true },
      overrides: [{ group: 'core', 'webhook-url': 'x' }],
    },
    pagerduty: { 'integration-key': 'hidden-key' },
    email: {
      from: 'a@example.com',
      username: 'u',
      password: 'hidden',
      host: 'h',
      port: 587,
      to: 'a@example.com,b@example.com',
    },
    telegram: { token: '123456:hidden', id: '-100' },
    ntfy: { topic: 'ops', url: 'https://ntfy.example.com', token: 'hidden', priority: 3 },
    custom: { url: 'https://example.com/hook', method: 'POST', body: '[ENDPOINT_NAME]', headers: { a: 'b' } },
    twilio: { sid: 's', token: 'hidden', from: '1', to: '2' },
  },
  endpoints: Array.from({ length: 200 }, (_, index) => ({
    ...endpoints[index % endpoints.length],
    name: `${endpoints[index % endpoints.length]?.name} ${index}`,
  })),
  'external-endpoints': [
    { name: 'job', group: 'core', token: 'hidden', heartbeat: { interval: '25h' }, alerts },
    { name: 'silent', token: 'x' },
  ],
  maintenance: { start: '23:00', duration: '1h', timezone: 'Europe/Berlin', every: ['Monday', 'Thursday'] },
};
const options = { location: 'main' };

it('moves 200 endpoints, and every file is valid', () => {
  const source: unknown = parse(yamlText(configuration));
  const { definitions, values, losses } = importGatus(source, options);
  const location = {
    folder: 'locations',
    logicalId: 'main',
    fields: { name: 'Main', slugName: 'main' },
  } as const;
  expect(problemsOf({ logicalId: 'p', name: 'p', definitions: [...definitions, location] }, values)).toEqual(
    [],
  );
  const carried = configuration.endpoints.filter(
    (one) => !['ssh', 'udp', 'sctp', 'domain'].includes(String(Reflect.get(one, 'name')).split(' ')[0] ?? ''),
  );
  expect(definitions.filter(({ folder }) => folder === 'checks')).toHaveLength(carried.length + 1);
  expect(losses.filter(({ field }) => /^endpoints\.\d+$/.test(field))).toHaveLength(200 - carried.length);
  expect(definitions.map(({ fields }) => yamlText(fields)).join()).not.toContain('hidden');
  const site = definitions.find(({ logicalId }) => logicalId === 'site-0');
  expect(site?.fields).toMatchObject({
    ...{ checkType: 'API', group: 'core', frequency: 2, alertChannels: ['slack'], tags: ['team:shop'] },
    alertSettings: { runBasedEscalation: { failedRunThreshold: 2 } },
    request: {
      ...{ method: 'POST', body: '{ a }', bodyType: 'GRAPHQL', skipSSL: true, followRedirects: false },
      assertions: expect.arrayContaining([
        { source: 'JSON_BODY', property: '$.list.length', comparison: 'GREATER_THAN', target: '3' },
        {
          source: 'CONNECTION',
          property: 'certificateDaysRemaining',
          comparison: 'GREATER_THAN',
          target: '1',
        },
      ]),
    },
  });
  // Gatus accepts any status if no condition mentions it.
  expect(definitions.find(({ logicalId }) => logicalId === 'off-1')?.fields).toMatchObject({
    activated: false,
    request: {
      assertions: [{ source: 'STATUS_CODE', comparison: 'GREATER_THAN', target: '0' }, expect.anything()],
    },
  });
  expect(definitions.find(({ fields }) => fields['checkType'] === 'SSL')?.fields).toMatchObject({
    maxResponseTime: 5000,
    request: {
      sslConfig: {
        ...{ hostname: 'mail.example.com', port: 587, startTls: 'smtp', ipFamily: 'IPv6' },
        ...{ skipChainValidation: true, alertDaysBeforeExpiry: null, securityBaseline: { enabled: false } },
      },
      assertions: [
        { source: 'CERTIFICATE', property: 'daysUntilExpiry', comparison: 'GREATER_THAN', target: '1' },
        { source: 'CONNECTION', property: 'resolvedIp', comparison: 'EQUALS', target: '::1' },
      ],
    },
  });
  const byName = (name: string) =>
    definitions.find(({ fields }) => String(fields['name']).startsWith(`${name} `))?.fields;
  expect(byName('socket')).toMatchObject({
    ...{ checkType: 'WEBSOCKET', maxResponseTime: 20_000 },
    request: {
      ...{ url: 'wss://example.com/live', skipSSL: true, headers: [{ key: 'Authorization', locked: true }] },
      steps: [{ type: 'SEND', message: 'ping' }, { type: 'EXPECT' }],
      assertions: [
        { source: 'JSON_BODY', property: '$.state' },
        { source: 'TEXT_BODY', comparison: 'CONTAINS' },
      ],
    },
  });
  expect(byName('listener')).toMatchObject({ request: { steps: [{ type: 'EXPECT' }] } });
  expect(byName('calls')).toMatchObject({
    checkType: 'GRPC',
    request: {
      ...{ url: 'example.com', port: 443, grpcConfig: { mode: 'HEALTH', tls: true } },
      assertions: [{ source: 'GRPC_HEALTHCHECK_STATUS', comparison: 'EQUALS', target: 'SERVING' }],
    },
  });
  expect(byName('game')).toMatchObject({
    checkType: 'UDP',
    request: { hostname: 'example.com', port: 27_015, data: 'hello' },
  });
  const windows = definitions.filter(({ folder }) => folder === 'maintenance-windows');
  expect(windows.map(({ fields }) => fields['startsAt'])).toEqual([
    '2024-01-01T22:00:00.000Z',
    '2024-01-04T22:00:00.000Z',
  ]);
});

it('loses nothing without a word: every field is carried over or on the list', () => {
  const small = { ...configuration, endpoints };
  expect(silentFields(small, (source) => importGatus(source, options))).toEqual([]);
});
