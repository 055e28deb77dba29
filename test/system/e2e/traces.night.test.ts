import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { type PicketProcess, startPicket, until } from '../../helpers/picket-process.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';
import { startServiceProcess } from '../../helpers/service/service-process.ts';
import { startHttpTarget } from '../../helpers/targets/http-target.ts';

const key = 'bootstrap-key-of-the-tests';
const ends: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, string>> }[];
  readonly status: { readonly code: number; readonly message?: string };
}

interface LogRecord extends Pick<Span, 'traceId' | 'spanId'> {
  readonly severityText: string;
  readonly body: { readonly stringValue: string };
}

/** A server of the documented protocol: OTLP/HTTP with JSON bodies. It refuses the first `refusals` requests. */
async function startCollector(refusals: number) {
  const spans: Span[] = [];
  const logs: LogRecord[] = [];
  const headers: IncomingHttpHeaders[] = [];
  let left = refusals;
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    headers.push(request.headers);
    if (left > 0) {
      left -= 1;
      response.writeHead(503).end();
      return;
    }
    const body = JSON.parse(text);
    if (request.url === '/otlp/v1/traces') {
      for (const { scopeSpans } of body.resourceSpans) for (const one of scopeSpans) spans.push(...one.spans);
    } else if (request.url === '/otlp/v1/logs') {
      for (const { scopeLogs } of body.resourceLogs)
        for (const one of scopeLogs) logs.push(...one.logRecords);
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/otlp/`, spans, logs, headers };
}

it('sends a trace of each run, which its target continues, and a record of each failure', async () => {
  const collector = await startCollector(1);
  const processes: PicketProcess[] = [];
  ends.push(() => Promise.all(processes.map((each) => each.kill('SIGKILL'))));
  const folder = temporaryFolder();
  ends.push(() => folder.remove());
  const service = await startServiceProcess(
    {
      ...{ BOOTSTRAP_API_KEY: key, DATA_DIR: folder.path },
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=a%20b, authorization=Bearer%20secret',
      METRICS_TOKEN: 'metrics-token-of-the-test',
    },
    (process) => processes.push(process),
  );
  const target = await startHttpTarget();
  ends.push(() => target.close());
  const location = await service.call('POST', '/v1/private-locations', { name: 'Lab', slugName: 'lab' });
  for (const [name, url] of [
    ['shop', target.url],
    ['gone', 'http://127.0.0.1:1/'],
  ]) {
    const made = await service.call('POST', '/v1/checks/url', {
      ...{ name, frequency: 0, frequencyOffset: 10, privateLocations: ['lab'] },
      ...{ retryStrategy: null, doubleCheck: false, request: { url, traceparentHosts: ['127.0.0.1'] } },
    });
    expect(made.status).toBe(201);
  }
  processes.push(
    startPicket(['agent'], {
      ...{ API_KEY: location.body.keys[0].rawKey, SERVICE_URL: service.url, CHECK_TYPES: 'URL' },
      ...{ AGENT_HEALTH_PORT: '0', SPOOL_DIR: `${folder.path}/spool` },
    }),
  );
  await until(
    'both have traces',
    () => new Set(rootsOf(collector.spans).map(({ name }) => name)).size === 2,
    {
      process: service.process,
    },
  );
  await until('the failure is recorded', () => collector.logs.length > 0, { process: service.process });
  const [shop] = rootsOf(collector.spans).filter(({ name }) => name === 'check shop');
  if (!shop) throw new Error('there is no trace of the shop');
  expect(shop.status).toEqual({ code: 1 });
  expect(
    Object.fromEntries(shop.attributes.map(({ key: name, value }) => [name, Object.values(value)[0]])),
  ).toMatchObject({
    'picket.check.name': 'shop',
    'picket.location': 'lab',
    'picket.outcome': 'passed',
  });
  const trace = collector.spans.filter(({ traceId }) => traceId === shop.traceId);
  const [request] = trace.filter(({ parentSpanId }) => parentSpanId === shop.spanId);
  if (!request) throw new Error('there is no span of the request');
  // The target's own spans would be children of the request.
  expect(target.requests.map(({ headers }) => headers['traceparent'])).toContain(
    `00-${shop.traceId}-${request.spanId}-01`,
  );
  const phases = trace.filter(({ parentSpanId }) => parentSpanId === request.spanId);
  expect(phases.map(({ name }) => name)).toEqual(expect.arrayContaining(['tcp', 'firstByte']));
  // Sequential, within the request.
  let at = BigInt(request.startTimeUnixNano);
  for (const phase of phases) {
    expect(BigInt(phase.startTimeUnixNano)).toBe(at);
    at = BigInt(phase.endTimeUnixNano);
  }
  expect(at - BigInt(request.endTimeUnixNano)).toBeLessThan(10_000n);
  const [gone] = rootsOf(collector.spans).filter(({ name }) => name === 'check gone');
  expect(gone?.status.code).toBe(2);
  expect(collector.logs[0]).toMatchObject({
    severityText: 'ERROR',
    body: { stringValue: gone?.status.message },
  });
  expect(rootsOf(collector.spans).map(({ traceId }) => traceId)).toContain(collector.logs[0]?.traceId);
  expect(collector.headers.at(-1)).toMatchObject({ 'x-tenant': 'a b', authorization: 'Bearer secret' });
  // The refusal was logged once, and its content was sent again.
  expect(service.process.output().match(/collector rejects/g)).toHaveLength(1);
  expect(service.process.output()).not.toContain('Bearer');
  const metrics = await fetch(`${service.url}/metrics`, {
    headers: { authorization: 'Bearer metrics-token-of-the-test' },
  });
  expect(await metrics.text()).toMatch(/picket_traces_total\{outcome="sent"\} [1-9]/);
});

function rootsOf(spans: readonly Span[]): readonly Span[] {
  return spans.filter(({ parentSpanId }) => parentSpanId === undefined);
}
