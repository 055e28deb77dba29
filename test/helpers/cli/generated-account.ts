import fc from 'fast-check';
import type { KeyAndCertificate } from '../targets/certificates.ts';

type Body = Readonly<Record<string, unknown>>;

/**
 * One account as API calls, in order: `{{kind:index}}` in a body stands for the id of an earlier object, `{{unique}}`
 * for a value that no other account has.
 */
export interface GeneratedAccount {
  readonly calls: readonly { readonly kind: string; readonly path: string; readonly body: Body }[];
}

const label = fc
  .array(fc.constantFrom('Shop', 'cart', 'API', 'Prüfung', '#1', 'yes', 'null', '12', ': -', '"q"', '日本'), {
    ...{ minLength: 1, maxLength: 3 },
  })
  .map((parts) => parts.join(' '));
const text = fc.constantFrom(
  '',
  'plain',
  'two\nlines\n',
  ' spaces ',
  '{{TOKEN}}',
  '!env X',
  '*a &b',
  '1e3',
  '~',
);
const part = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined });
const some = (fields: Record<string, fc.Arbitrary<unknown>>) => fc.record(fields, { requiredKeys: [] });

const variables = fc.uniqueArray(
  fc.record({
    key: fc.constantFrom('TOKEN', 'USER', 'A.B', 'x-y'),
    value: text,
    locked: fc.boolean(),
    secret: fc.boolean(),
  }),
  { maxLength: 3, selector: ({ key }) => key },
);
const alertSettings = some({
  escalationType: fc.constantFrom('RUN_BASED', 'TIME_BASED', 'RATIO_BASED', 'COUNT_BASED'),
  runBasedEscalation: some({ failedRunThreshold: fc.integer({ min: 1, max: 5 }) }),
  reminders: some({ amount: fc.constantFrom(0, 3, 100_000), interval: fc.constantFrom(1, 10, 30) }),
  flapping: some({ enabled: fc.boolean(), changes: fc.integer({ min: 2, max: 50 }) }),
});
const retryStrategy = fc.constantFrom(
  null,
  { type: 'FIXED', baseBackoffSeconds: 3 },
  { type: 'EXPONENTIAL', maxRetries: 4, sameRegion: false, maxDurationSeconds: 30 },
  { type: 'SINGLE_RETRY', baseBackoffSeconds: 0 },
);

const anyCheck = {
  name: label,
  activated: fc.boolean(),
  muted: fc.boolean(),
  shouldFail: fc.boolean(),
  tags: fc.uniqueArray(fc.constantFrom('prod', 'eu', 'a b', '1'), { maxLength: 3 }),
  description: fc.option(text, { nil: null }),
  environmentVariables: variables,
  useGlobalAlertSettings: fc.boolean(),
  alertSettings,
  runParallel: fc.boolean(),
};
const onlyOn = part(retryStrategy);
const pairs = fc.array(fc.record({ key: fc.constantFrom('x-a', 'x-b'), value: text, locked: fc.boolean() }), {
  maxLength: 2,
});
const assertion = fc.constantFrom(
  { source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' },
  { source: 'JSON_BODY', property: '$.a[0]', comparison: 'NOT_EMPTY' },
  { source: 'TEXT_BODY', comparison: 'CONTAINS', target: 'ok', regex: '(.*)' },
);

const checks: readonly fc.Arbitrary<readonly [route: string, Body]>[] = [
  withRoute('api', {
    ...anyCheck,
    retryStrategy: onlyOn,
    frequency: fc.constantFrom(1, 10, 1440),
    localSetupScript: fc.option(text, { nil: null }),
    degradedResponseTime: fc.constantFrom(null, 0, 1200),
    request: requestOf({
      method: fc.constantFrom('GET', 'POST'),
      body: text,
      bodyType: fc.constantFrom('NONE', 'JSON', 'GRAPHQL'),
      headers: pairs,
      queryParameters: pairs,
      assertions: fc.array(assertion, { maxLength: 2 }),
      basicAuth: fc.constantFrom(null, { username: 'u', password: 'p' }),
    }),
  }),
  withRoute('url', {
    ...anyCheck,
    frequency: fc.constantFrom(0, 5),
    request: requestOf({ skipSSL: fc.boolean() }),
  }),
  withRoute('tcp', {
    ...anyCheck,
    request: fc.record(
      {
        hostname: fc.constantFrom('example.com', '{{HOST}}'),
        port: fc.integer({ min: 1, max: 65_535 }),
        data: text,
      },
      { requiredKeys: ['hostname', 'port'] },
    ),
  }),
  withRoute('dns', {
    ...anyCheck,
    request: fc.record(
      {
        query: fc.constant('example.com'),
        recordType: fc.constantFrom('A', 'MX'),
        protocol: fc.constantFrom('UDP', 'TCP'),
      },
      { requiredKeys: ['query', 'recordType'] },
    ),
  }),
  withRoute('icmp', {
    ...anyCheck,
    request: fc.record(
      { hostname: fc.constant('example.com'), pingCount: fc.constantFrom(null, 3) },
      { requiredKeys: ['hostname'] },
    ),
  }),
  withRoute('browser', {
    ...anyCheck,
    script: fc.constantFrom('await page.goto("https://example.com");\n', "// a: b\n\tconst x = '#';"),
    dependencies: fc.constantFrom(null, [{ path: 'lib/a.ts', content: 'export const a = 1;\n' }]),
  }),
  withRoute('heartbeat', {
    ...anyCheck,
    heartbeat: fc.constantFrom(
      { period: 1, periodUnit: 'hours', grace: 5, graceUnit: 'minutes' },
      { period: 30, periodUnit: 'seconds', grace: 0, graceUnit: 'days' },
      { schedule: { cron: '*/5 * * * *', timeZone: 'Europe/Berlin' }, grace: 1, graceUnit: 'hours' },
      { schedule: { onCalendar: 'Mon..Fri 03:00' }, grace: 0, graceUnit: 'hours', failureKeywords: ['no'] },
    ),
  }),
];

function withRoute(route: string, fields: Record<string, fc.Arbitrary<unknown>>) {
  const required = ['name', 'request', 'script', 'heartbeat'].filter((key) => key in fields);
  return fc.record(fields, { requiredKeys: required }).map((body) => [route, body as Body] as const);
}

function requestOf(fields: Record<string, fc.Arbitrary<unknown>>) {
  return fc.record(
    {
      url: fc.constantFrom('https://example.com/', 'http://u:p@example.com/?q=1#x', '{{BASE}}/a'),
      ...fields,
    },
    { requiredKeys: ['url'] },
  );
}

const channel = fc.constantFrom<Body>(
  { type: 'EMAIL', config: { address: 'ops@example.com' }, sendDegraded: true },
  { type: 'SLACK', config: { url: 'https://hooks.slack.com/services/T/B/X' } },
  {
    type: 'WEBHOOK',
    config: {
      name: 'hook',
      url: 'https://example.com/{{CHECK_ID}}',
      webhookSecret: 's',
      headers: [{ key: 'a', value: 'b', locked: true }],
    },
  },
  { type: 'PAGERDUTY', config: { serviceKey: 'k' }, quietHours: { from: '22:00', until: '07:00' } },
  { type: 'TELEGRAM', config: { name: 't', botToken: '123456:ABC', chatId: '-100' }, sslExpiry: true },
);
const group = fc.record(
  {
    name: label,
    tags: anyCheck.tags,
    concurrency: fc.integer({ min: 1, max: 9 }),
    environmentVariables: variables,
    runParallel: fc.constantFrom(null, true),
    alertSettings: part(alertSettings),
  },
  { requiredKeys: ['name'] },
);
const anyIndex = fc.nat({ max: 5 });
const accountVariable = fc.record({
  key: fc.constantFrom('TOKEN', 'USER', 'A.B', 'x-y'),
  value: text,
  locked: fc.boolean(),
  secret: fc.boolean(),
});
const objective = fc.record({
  target: fc.constantFrom(99, 99.95),
  windowDays: fc.constantFrom(7, 30),
  check: fc.option(anyIndex),
  channel: fc.option(anyIndex),
});

type Call = (kind: string, path: string, body: Body) => void;

/** A page of components, and its rules. */
function callForComponents(
  call: Call,
  components: readonly (readonly [
    name: string,
    isGroup: boolean,
    isHidden: boolean,
    parent: number | null,
  ])[],
  rules: readonly (readonly [name: string, enabled: boolean, component: number])[],
): void {
  if (components.length === 0) return;
  const page = { url: 'c{{unique}}', version: 3, themeColors: { dark: { linkFontColor: '#ABCDEF' } } };
  call('componentPage', '/v1/status-pages', { name: 'Components', ...page });
  const statusPageId = '{{componentPage:0}}';
  for (const [index, [name, isGroup, hidden, parent]] of components.entries()) {
    const above = parent === null || index === 0 ? undefined : parent % index;
    const isIn = above !== undefined && components[above]?.[1] === true;
    call('component', '/v1/status-pages/components', {
      ...{ statusPageId, name: `${name} ${index}`, hidden, displayOrder: index },
      ...(isGroup ? { type: 'GROUP', configuration: { expandedByDefault: hidden } } : {}),
      ...(isIn ? { parentId: `{{component:${above}}}` } : {}),
    });
  }
  for (const [name, enabled, component] of rules) {
    const componentId = `{{component:${component % components.length}}}`;
    call('rule', '/v1/status-pages/automation-rules', {
      ...{ statusPageId, name, enabled, tags: ['prod'], firstUpdate: 'a', lastUpdate: 'b' },
      components: [{ componentId, targetImpact: enabled ? 'PARTIAL_OUTAGE' : 'UNDER_MAINTENANCE' }],
    });
  }
}

/**
 * Small accounts with everything that files can hold. Names are unique, because equal names are ordered by creation
 * time, which no deployment preserves.
 *
 * @param certificate the client certificates.
 */
export const generatedAccount = (certificate: KeyAndCertificate): fc.Arbitrary<GeneratedAccount> =>
  fc
    .record({
      variables: fc.uniqueArray(accountVariable, { maxLength: 3, selector: ({ key }) => key }),
      snippets: fc.array(label, { maxLength: 2 }),
      certificates: fc.array(fc.constant(certificate), { maxLength: 1 }),
      objectives: fc.array(objective, { maxLength: 2 }),
      locations: fc.array(label, { maxLength: 2 }),
      channels: fc.uniqueArray(channel, { maxLength: 3, selector: ({ type }) => type }),
      services: fc.array(label, { maxLength: 2 }),
      groups: fc.array(fc.tuple(group, fc.option(anyIndex)), { maxLength: 2 }),
      checks: fc.array(
        fc.tuple(
          fc.oneof(...checks),
          fc.record({
            group: fc.option(anyIndex),
            channel: fc.option(anyIndex),
            location: fc.option(anyIndex),
            parent: fc.option(anyIndex),
            service: fc.option(anyIndex),
            snippet: fc.option(anyIndex),
            isActive: fc.boolean(),
          }),
        ),
        {
          minLength: 1,
          maxLength: 5,
        },
      ),
      pages: fc.array(fc.tuple(label, anyIndex), { maxLength: 1 }),
      components: fc.array(fc.tuple(label, fc.boolean(), fc.boolean(), fc.option(anyIndex)), {
        maxLength: 3,
      }),
      rules: fc.array(fc.tuple(label, fc.boolean(), anyIndex), { maxLength: 1 }),
      windows: fc.array(fc.tuple(label, fc.option(anyIndex)), { maxLength: 1 }),
      dashboards: fc.array(label, { maxLength: 1 }),
    })
    .map((made) => {
      const id = (kind: string, list: readonly unknown[], index: number | null) =>
        index === null || list.length === 0 ? undefined : `{{${kind}:${index % list.length}}}`;
      const calls: GeneratedAccount['calls'][number][] = [];
      const call = (kind: string, path: string, body: Body) => void calls.push({ kind, path, body });
      for (const [index, name] of made.locations.entries()) {
        call('location', '/v1/private-locations', { name, slugName: `l${index}` });
      }
      for (const body of made.channels) call('channel', '/v1/alert-channels', body);
      for (const body of made.variables) call('variable', '/v1/variables', body);
      for (const [index, name] of made.snippets.entries()) {
        call('snippet', '/v1/snippets', { name: `${name} ${index}`, script: `// ${name}\nrequest();\n` });
      }
      for (const { key, cert } of made.certificates) {
        call('certificate', '/v1/client-certificates', { host: '*.example.com', key, cert });
      }
      for (const [index, name] of made.services.entries()) {
        call('service', '/v1/status-pages/services', { name: `${name} ${index}` });
      }
      for (const [index, [body, channelIndex]] of made.groups.entries()) {
        const alertChannelId = id('channel', made.channels, channelIndex);
        const alertChannelSubscriptions = alertChannelId ? [{ alertChannelId, activated: true }] : [];
        call('group', '/v1/check-groups?autoAssignAlerts=false', {
          ...body,
          name: `${String(body['name'])} ${index}`,
          alertChannelSubscriptions,
        });
      }
      for (const [index, [[route, body], links]] of made.checks.entries()) {
        const alertChannelId = id('channel', made.channels, links.channel);
        const serviceId = id('service', made.services, links.service);
        const parent = index > 0 ? id('check', made.checks.slice(0, index), links.parent) : undefined;
        const setupSnippetId = id('snippet', made.snippets, links.snippet);
        const slug =
          made.locations.length > 0 && links.location !== null
            ? links.location % made.locations.length
            : null;
        call('check', `/v1/checks/${route}?autoAssignAlerts=false`, {
          ...body,
          name: `${String(body['name'])} ${index}`,
          groupId: id('group', made.groups, links.group) ?? null,
          ...(slug === null ? {} : { privateLocations: [`l${slug}`] }),
          ...(alertChannelId
            ? { alertChannelSubscriptions: [{ alertChannelId, activated: links.isActive }] }
            : {}),
          ...(setupSnippetId ? { setupSnippetId } : {}),
          ...(parent ? { parentCheckIds: [parent] } : {}),
          ...(serviceId
            ? { triggerIncident: { serviceId, name: 'down', description: 'd', notifySubscribers: false } }
            : {}),
        });
      }
      for (const [name, index] of made.pages) {
        const service = id('service', made.services, index);
        const cards = [{ name: 'first', services: service ? [{ id: service }] : [] }];
        call('page', '/v1/status-pages', { name, url: 'p{{unique}}', cards });
      }
      callForComponents(call, made.components, made.rules);
      for (const [name, index] of made.windows) {
        const page = id('page', made.pages, index);
        const statusPageVisibility = { enabled: true, statusPageIds: page ? [page] : [] };
        call('window', '/v1/maintenance-windows', {
          ...{
            name,
            startsAt: '2027-01-01T00:00:00.000Z',
            endsAt: '2027-01-01T01:00:00.000Z',
            tags: ['prod'],
          },
          ...(page ? { statusPageVisibility } : {}),
        });
      }
      for (const header of made.dashboards) {
        call('dashboard', '/v1/dashboards', { header, customUrl: 'd{{unique}}', tags: ['prod'] });
      }
      for (const [index, { check, channel: channelIndex, ...body }] of made.objectives.entries()) {
        const checkId = id('check', made.checks, check);
        const alertChannelId = id('channel', made.channels, channelIndex);
        call('objective', '/v1/slos', {
          ...{ ...body, name: `objective ${index}` },
          ...(checkId ? { checkId } : { tags: ['prod'] }),
          alertChannelIds: alertChannelId ? [alertChannelId] : [],
        });
      }
      return { calls };
    });
