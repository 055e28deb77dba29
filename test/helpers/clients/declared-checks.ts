/**
 * Bodies as the Go SDK and the Terraform provider built on it send them: every field of their types, in their spelling,
 * with Go's zero values for unset fields.
 */
export type Body = Readonly<Record<string, unknown>>;

export const assertion = (source: string, target: string) => ({
  edit: false,
  order: 0,
  arrayIndex: 0,
  source,
  property: '',
  comparison: 'EQUALS',
  target,
});

export const alertSettings = {
  escalationType: 'RUN_BASED',
  runBasedEscalation: { failedRunThreshold: 2 },
  timeBasedEscalation: { minutesFailingThreshold: 5 },
  reminders: { amount: 0, interval: 5 },
  parallelRunFailureThreshold: { enabled: false, percentage: 10 },
};
export const retryStrategy = {
  type: 'FIXED',
  baseBackoffSeconds: 10,
  maxRetries: 2,
  maxDurationSeconds: 60,
  sameRegion: true,
};

export const check = (checkType: string, fields: Body): Body => ({
  name: `monitor ${checkType}`,
  checkType,
  frequency: 10,
  activated: true,
  muted: false,
  runParallel: false,
  locations: ['eu-west-1'],
  privateLocations: [],
  tags: ['auto'],
  alertSettings,
  useGlobalAlertSettings: false,
  alertChannelSubscriptions: [],
  retryStrategy,
  ...fields,
});
const times = { degradedResponseTime: 3000, maxResponseTime: 5000 };

/** A resource of the provider, under the provider's name. */
export interface Declared {
  readonly path: string;
  readonly body: Body;
  readonly change: Body;
  /** Fields that responses never show, with the values that are written. */
  readonly hidden?: readonly string[];
  /** The field that identifies it in paths. */
  readonly key?: string;
}

/** The checks of the provider. */
export const checks: Readonly<Record<string, Declared>> = {
  checkly_check: {
    path: 'checks/api',
    body: check('API', {
      ...times,
      shouldFail: false,
      groupId: null,
      groupOrder: null,
      runtimeId: null,
      setupSnippetId: null,
      tearDownSnippetId: null,
      localSetupScript: '',
      localTearDownScript: '',
      environmentVariables: [{ key: 'STAGE', value: 'test', locked: false, secret: false }],
      request: {
        method: 'GET',
        url: 'https://shop.example.com/',
        followRedirects: true,
        skipSSL: false,
        body: '',
        bodyType: 'NONE',
        headers: [{ key: 'X-Test', value: 'a', locked: false }],
        queryParameters: [{ key: 'q', value: 'b', locked: false }],
        assertions: [assertion('STATUS_CODE', '200')],
        basicAuth: { username: '', password: '' },
        ipFamily: 'IPv4',
      },
    }),
    change: { name: 'changed', frequency: 5 },
  },
  'checkly_check (browser)': {
    path: 'checks/browser',
    body: check('BROWSER', { script: "console.log('hi')", runtimeId: '2026.04', environmentVariables: [] }),
    change: { muted: true },
  },
  'checkly_check (multi-step)': {
    path: 'checks/multistep',
    body: check('MULTI_STEP', {
      script: "console.log('hi')",
      runtimeId: '2026.04',
      environmentVariables: [],
    }),
    change: { script: "console.log('again')" },
  },
  checkly_url_monitor: {
    path: 'checks/url',
    body: check('URL', {
      ...times,
      request: {
        url: 'https://shop.example.com/',
        followRedirects: true,
        skipSSL: false,
        ipFamily: 'IPv4',
        assertions: [assertion('STATUS_CODE', '200')],
      },
    }),
    change: { name: 'changed' },
  },
  checkly_tcp_monitor: {
    path: 'checks/tcp',
    body: check('TCP', {
      ...times,
      request: {
        hostname: 'shop.example.com',
        port: 443,
        data: '',
        ipFamily: 'IPv4',
        assertions: [assertion('RESPONSE_DATA', 'hi')],
      },
    }),
    change: { tags: [] },
  },
  checkly_dns_monitor: {
    path: 'checks/dns',
    body: check('DNS', {
      degradedResponseTime: 500,
      maxResponseTime: 1000,
      request: {
        recordType: 'A',
        query: 'shop.example.com',
        protocol: 'UDP',
        assertions: [assertion('RESPONSE_CODE', 'NOERROR')],
      },
    }),
    change: { activated: false },
  },
  checkly_ssl_monitor: {
    path: 'checks/ssl',
    body: check('SSL', {
      degradedResponseTime: 3000,
      maxResponseTime: 10_000,
      shouldFail: false,
      request: {
        sslConfig: {
          hostname: 'shop.example.com',
          port: 443,
          ipFamily: 'IPv4',
          skipChainValidation: false,
          handshakeTimeoutMs: 10_000,
          alertDaysBeforeExpiry: 30,
          securityBaseline: {
            enabled: true,
            minTLSVersion: { value: 'TLS1.2', severity: 'fail' },
            minKeySizeBits: { value: 2048, severity: 'fail' },
            weakSignatureAlgorithm: { severity: 'fail' },
            weakCipherSuite: { severity: 'fail' },
            knownBadCA: { severity: 'fail' },
            recommendedTLSVersion: { value: 'TLS1.3', severity: 'degrade' },
            recommendedKeySizeBits: { value: 3072, severity: 'ignore' },
            ocspMustStapleRespected: { severity: 'ignore' },
            sctPresent: { severity: 'ignore' },
          },
        },
        assertions: [
          { ...assertion('CERTIFICATE', '14'), property: 'daysUntilExpiry', comparison: 'GREATER_THAN' },
        ],
      },
    }),
    change: { name: 'changed' },
  },
  checkly_grpc_monitor: {
    path: 'checks/grpc',
    body: check('GRPC', {
      degradedResponseTime: 10_000,
      maxResponseTime: 20_000,
      shouldFail: false,
      request: {
        url: 'grpc.shop.example.com',
        port: 443,
        ipFamily: 'IPv4',
        skipSSL: false,
        timeout: 30,
        grpcConfig: {
          mode: 'BEHAVIOR',
          tls: true,
          serviceDefinition: 'REFLECTION',
          method: 'shop.v1.Orders/Get',
          message: '{"id": "one"}',
          metadata: [{ key: 'x-tenant', value: 'blue' }],
        },
        assertions: [
          { ...assertion('GRPC_RESPONSE', 'OPEN'), property: '$.state', comparison: 'EQUALS' },
          { ...assertion('GRPC_STATUS_CODE', '0'), comparison: 'EQUALS' },
        ],
      },
    }),
    change: { name: 'changed' },
  },
  checkly_traceroute_monitor: {
    path: 'checks/traceroute',
    body: check('TRACEROUTE', {
      degradedResponseTime: 15_000,
      maxResponseTime: 30_000,
      shouldFail: false,
      request: {
        url: 'shop.example.com',
        protocol: 'TCP',
        port: 443,
        ipFamily: 'IPv4',
        maxHops: 30,
        maxUnknownHops: 15,
        ptrLookup: true,
        timeout: 10,
        assertions: [{ ...assertion('RESPONSE_TIME', '200'), property: 'avg', comparison: 'LESS_THAN' }],
      },
    }),
    change: { name: 'changed' },
  },
  checkly_icmp_monitor: {
    path: 'checks/icmp',
    body: check('ICMP', {
      ...times,
      degradedPacketLossThreshold: 10,
      maxPacketLossThreshold: 20,
      request: { hostname: 'shop.example.com', ipFamily: 'IPv4', pingCount: 10, assertions: [] },
    }),
    change: { maxPacketLossThreshold: 30 },
  },
};
