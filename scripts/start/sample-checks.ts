/** The sample monitors of `npm start`, as bodies of `POST /v1/checks/{route}`; each demonstrates a feature. */
export interface SampleCheck {
  readonly route: string;
  readonly body: { readonly name: string } & Record<string, unknown>;
}

/** Ports of the sample targets. */
export interface SamplePorts {
  readonly http: number;
  readonly https: number;
  /** A port where no program listens. */
  readonly closed: number;
  readonly reset: number;
  readonly expired: number;
  readonly otherHost: number;
}

export function sampleChecks(ports: SamplePorts): SampleCheck[] {
  const site = `http://127.0.0.1:${ports.http}`;
  const every10Seconds = { frequency: 0, frequencyOffset: 10 };
  const every20Seconds = { frequency: 0, frequencyOffset: 20 };
  const noRetries = { doubleCheck: false, retryStrategy: null };
  const status = (comparison: string, target: string) => ({ source: 'STATUS_CODE', comparison, target });
  return [
    {
      route: 'url',
      body: {
        name: 'Shop: front page',
        ...every10Seconds,
        request: { url: `${site}/`, assertions: [status('EQUALS', '200')] },
      },
    },
    {
      route: 'url',
      body: { name: 'Shop: old address (2 redirects)', ...every20Seconds, request: { url: `${site}/old` } },
    },
    {
      route: 'url',
      body: {
        name: 'Shop: HTTPS, private certificate',
        ...every10Seconds,
        request: { url: `https://127.0.0.1:${ports.https}/`, skipSSL: true },
      },
    },
    {
      route: 'url',
      body: {
        name: 'Shop: removed page stays 404',
        ...every20Seconds,
        shouldFail: true,
        request: { url: `${site}/removed`, assertions: [status('EQUALS', '404')] },
      },
    },
    {
      route: 'api',
      body: {
        name: 'Orders API: all paid',
        ...every10Seconds,
        request: {
          url: `${site}/api/orders`,
          assertions: [
            { source: 'JSON_BODY', property: '$.orders[*].paid', comparison: 'EQUALS', target: 'true' },
            { source: 'JSON_BODY', property: '$.orders.length', comparison: 'GREATER_THAN', target: '1' },
            { source: 'HEADERS', property: 'content-type', comparison: 'CONTAINS', target: 'json' },
          ],
        },
      },
    },
    {
      route: 'api',
      body: {
        name: 'Login API: POST with a variable',
        ...every20Seconds,
        environmentVariables: [{ key: 'SHOP_USER', value: 'ada', secret: false }],
        request: {
          method: 'POST',
          url: `${site}/api/login`,
          bodyType: 'JSON',
          body: '{"user": "{{SHOP_USER}}", "nonce": "{{$UUID}}"}',
          assertions: [{ source: 'JSON_BODY', property: '$.user', comparison: 'EQUALS', target: 'ada' }],
        },
      },
    },
    {
      route: 'api',
      body: {
        name: 'Search API: slow, degraded over 500 ms',
        ...every20Seconds,
        degradedResponseTime: 500,
        maxResponseTime: 5000,
        request: { url: `${site}/api/search` },
      },
    },
    {
      route: 'url',
      body: {
        name: 'Shop: flaky page, retried once',
        ...every10Seconds,
        doubleCheck: false,
        retryStrategy: { type: 'SINGLE_RETRY', baseBackoffSeconds: 1 },
        request: { url: `${site}/flaky` },
      },
    },
    {
      route: 'tcp',
      body: {
        name: 'Shop: port is open',
        ...every20Seconds,
        request: { hostname: '127.0.0.1', port: ports.http },
      },
    },
    {
      route: 'icmp',
      body: {
        name: 'This machine: 3 pings',
        ...every20Seconds,
        request: {
          hostname: '127.0.0.1',
          pingCount: 3,
          assertions: [{ source: 'LATENCY', property: 'avg', comparison: 'LESS_THAN', target: '50' }],
        },
      },
    },
    {
      route: 'url',
      body: {
        name: 'Reports: answers 503',
        ...every20Seconds,
        ...noRetries,
        request: { url: `${site}/report` },
      },
    },
    {
      route: 'url',
      body: {
        name: 'Warehouse: nobody listens',
        ...every20Seconds,
        ...noRetries,
        request: { url: `http://127.0.0.1:${ports.closed}/` },
      },
    },
    {
      route: 'url',
      body: {
        name: 'Partner: its name does not exist',
        ...every20Seconds,
        ...noRetries,
        request: { url: 'http://partner.invalid/' },
      },
    },
    {
      route: 'url',
      body: {
        name: 'Printer: breaks off',
        ...every20Seconds,
        ...noRetries,
        request: { url: `http://127.0.0.1:${ports.reset}/` },
      },
    },
    {
      route: 'url',
      body: {
        name: 'Archive: certificate is expired',
        ...every20Seconds,
        ...noRetries,
        request: { url: `https://127.0.0.1:${ports.expired}/` },
      },
    },
    {
      route: 'url',
      body: {
        name: 'Forum: certificate of another host',
        ...every20Seconds,
        ...noRetries,
        request: { url: `https://127.0.0.1:${ports.otherHost}/` },
      },
    },
    {
      route: 'url',
      body: {
        name: 'Stock API: first byte comes late',
        ...every20Seconds,
        ...noRetries,
        degradedResponseTime: 500,
        maxResponseTime: 2_000,
        request: { url: `${site}/api/stock` },
      },
    },
    {
      route: 'api',
      body: {
        name: 'Invoices API: one is unpaid',
        ...every20Seconds,
        ...noRetries,
        request: {
          url: `${site}/api/invoices`,
          assertions: [
            { source: 'JSON_BODY', property: '$.invoices[*].paid', comparison: 'EQUALS', target: 'true' },
          ],
        },
      },
    },
  ];
}

/** Samples of failures that are not the target's fault; they run at a location with problems of its own. */
export function troubledChecks(ports: { readonly http: number; readonly starving: number }): SampleCheck[] {
  const every30Seconds = { frequency: 0, frequencyOffset: 30, doubleCheck: false, retryStrategy: null };
  return [
    {
      route: 'url',
      body: {
        name: 'Branch office: its resolver is away',
        ...every30Seconds,
        request: { url: `http://shop.example.com:${ports.http}/` },
      },
    },
    {
      route: 'dns',
      body: {
        name: 'Branch office: its agent gets no time',
        ...every30Seconds,
        // One run takes up to 20 seconds, and is repeated once.
        frequency: 1,
        frequencyOffset: undefined,
        request: {
          query: 'shop.example.com',
          recordType: 'A',
          nameServer: '127.0.0.1',
          port: ports.starving,
          protocol: 'UDP',
        },
      },
    },
  ];
}
