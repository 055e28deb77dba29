import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Metadata, Server, ServerCredentials, type sendUnaryData, status } from '@grpc/grpc-js';
import { pino } from 'pino';
import { afterEach, expect, it } from 'vitest';
import { TraceExport } from '../../../src/extras/telemetry/traces/trace-export.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { ServiceConfig } from '../../../src/platform/config/config.ts';
import { ServiceMetrics } from '../../../src/service/metrics/metrics.ts';
import type { StoredResult } from '../../../src/service/results/ingest.ts';
import { asOtlpJson, otlpServices, readOtlp } from '../../helpers/grpc/otlp-types.ts';
import { openHarness, type ServiceHarness } from '../../helpers/service/service.ts';
import { wholeDetail } from '../../helpers/whole-detail.ts';

const ends: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

const failed = {
  run: { id: 'run', attempt: 0, test_session_id: null },
  row: {
    ...{ id: 'result', check_id: 'check', check_type: 'URL', run_location: 'lab', agent_id: 'agent' },
    ...{
      has_failures: 1,
      has_errors: 0,
      is_degraded: 0,
      code: 'STATUS_UNEXPECTED',
      message: 'kein Brötchen',
    },
    ...{ started: 1_767_225_600_000, stopped: 1_767_225_600_100 },
  },
  detail: wholeDetail('URL', {
    request: {
      method: 'GET',
      url: 'http://shop.example/',
      traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    },
    response: { status: 500, timingPhases: { dns: 1.5, tcp: 2, firstByte: 10.25 } },
  }),
} as unknown as StoredResult;

interface Received {
  readonly path: string;
  readonly body: unknown;
  readonly tenant: unknown;
}

/** A collector over HTTP that parses bodies by their content type. */
async function startHttpCollector() {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const path = request.url ?? '';
    const isJson = request.headers['content-type'] === 'application/json';
    const body = isJson
      ? JSON.parse(bytes.toString())
      : readOtlp(path === '/v1/logs' ? 'logs' : 'traces', bytes);
    received.push({ path, body, tenant: request.headers['x-tenant'] });
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

/** A collector over gRPC whose first calls end with these statuses. */
async function startGrpcCollector(endings: { readonly code: status; readonly metadata?: Metadata }[] = []) {
  const received: Received[] = [];
  const server = new Server();
  for (const [signal, service] of Object.entries(otlpServices)) {
    server.addService(service as never, {
      Export: (
        { request, metadata }: { request: unknown; metadata: Metadata },
        callback: sendUnaryData<object>,
      ) => {
        const ending = endings.shift();
        if (ending) return callback({ ...ending, details: 'not now, déjà vu' });
        received.push({ path: signal, body: asOtlpJson(request), tenant: metadata.get('x-tenant')[0] });
        callback(null, {});
      },
    });
  }
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  ends.push(() => server.forceShutdown());
  return { url: `http://127.0.0.1:${port}`, received };
}

async function exportTo(service: ServiceHarness, url: string, protocol: string) {
  const metrics = new ServiceMetrics();
  const logged: string[] = [];
  const traces = new TraceExport({
    config: ServiceConfig.parse({
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=a%20b',
    }),
    ...{ store: service.store, clock: systemClock, metrics },
    logger: pino({}, { write: (line: string) => logged.push(line) }),
  });
  ends.push(() => traces.close());
  return { traces, logged, counted: () => metrics.text(service.store, Date.now()) };
}

it('sends the same traces and records as JSON, as protobuf and over gRPC', async () => {
  const service = await openHarness();
  ends.push(() => service.close());
  const [http, grpc] = [await startHttpCollector(), await startGrpcCollector()];
  const sent: Received[][] = [];
  for (const [{ url, received }, protocol] of [
    [http, 'http/json'],
    [http, 'http/protobuf'],
    [grpc, 'grpc'],
  ] as const) {
    const { traces } = await exportTo(service, url, protocol);
    traces.offer([failed]);
    await traces.turn();
    sent.push(received.splice(0));
  }
  const [asJson = [], asBinary, overGrpc] = sent;
  expect(asJson.map(({ path }) => path)).toEqual(['/v1/traces', '/v1/logs']);
  expect(overGrpc?.map(({ path }) => path)).toEqual(['traces', 'logs']);
  // Span ids are random, and protobuf has no empty lists.
  const comparable = (all: readonly Received[] | undefined): unknown =>
    JSON.parse(
      JSON.stringify(all?.map(({ body, tenant }) => ({ body, tenant })))
        .replaceAll(/"((?:parentS|s)panId)":"[0-9a-f]{16}"/g, '"$1":"…"')
        .replaceAll(',"attributes":[]', ''),
    );
  expect(JSON.stringify(asJson)).toContain('kein Brötchen');
  expect(asJson.map(({ tenant }) => tenant)).toEqual(['a b', 'a b']);
  expect(comparable(asBinary)).toEqual(comparable(asJson));
  expect(comparable(overGrpc)).toEqual(comparable(asJson));
});

it('retries after gRPC statuses that request it, and not after others', async () => {
  const service = await openHarness();
  ends.push(() => service.close());
  const full = new Metadata();
  full.set('grpc-status-details-bin', Buffer.from('\x08\x08type.googleapis.com/google.rpc.RetryInfo'));
  const endings = [
    { code: status.UNAVAILABLE },
    { code: status.RESOURCE_EXHAUSTED, metadata: full },
    { code: status.RESOURCE_EXHAUSTED },
    { code: status.UNAUTHENTICATED },
  ];
  const grpc = await startGrpcCollector(endings);
  const { traces, logged, counted } = await exportTo(service, grpc.url, 'grpc');
  traces.offer([failed]);
  await traces.turn();
  await traces.turn();
  expect(endings).toHaveLength(2);
  expect(await counted()).not.toContain('picket_traces_total{');
  await traces.turn();
  expect(await counted()).toContain('picket_traces_total{outcome="refused"} 1');
  traces.offer([failed]);
  await traces.turn();
  expect(await counted()).toContain('picket_traces_total{outcome="refused"} 2');
  traces.offer([failed]);
  await traces.turn();
  expect(await counted()).toContain('picket_traces_total{outcome="sent"} 1');
  expect(grpc.received).toHaveLength(2);
  expect(logged.map((line) => JSON.parse(line).msg)).toEqual([
    'the OpenTelemetry collector rejects data',
    'the OpenTelemetry collector accepts data again',
  ]);
  expect(JSON.parse(logged[0] ?? '').result).toBe('status 200: gRPC status 14: not now, déjà vu');
});

it('keeps data that an HTTP collector cannot accept over gRPC', async () => {
  const service = await openHarness();
  ends.push(() => service.close());
  const http = await startHttpCollector();
  const { traces, logged } = await exportTo(service, http.url, 'grpc');
  traces.offer([failed]);
  await traces.turn();
  expect(http.received).toEqual([]);
  expect(logged).toHaveLength(1);
});
