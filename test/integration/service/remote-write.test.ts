import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { RemoteWrite } from '../../../src/extras/telemetry/remote-write/remote-write.ts';
import { readServiceConfig, ServiceConfig } from '../../../src/platform/config/config.ts';
import { CheckMetrics } from '../../../src/service/check-metrics/check-metrics.ts';
import { ServiceMetrics } from '../../../src/service/metrics/metrics.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { createCheck, openHarness, type ServiceHarness } from '../../helpers/service/service.ts';

const ends: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

let service: ServiceHarness;
beforeEach(async () => {
  service = await openHarness();
  ends.push(() => service.close());
  await createCheck(service, { activated: false });
});

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly text?: string;
}

/** A receiver that responds as scripted, and with 204 after that. */
async function startReceiver(...answers: Answer[]) {
  const received: {
    readonly body: Buffer;
    readonly headers: IncomingHttpHeaders;
    readonly status: number;
  }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { status, headers, text } = answers.shift() ?? { status: 204 };
    received.push({ body: Buffer.concat(chunks), headers: request.headers, status });
    response.writeHead(status, headers).end(text);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1/write`, received };
}

function remoteWriteTo(
  url: string,
  settings: Readonly<Record<string, string>> = {},
  mostWaitingBytes?: number,
) {
  const clock = new ManualClock();
  const metrics = new ServiceMetrics();
  const lines: string[] = [];
  const remoteWrite = new RemoteWrite({
    config: ServiceConfig.parse({ REMOTE_WRITE_URL: url, ...settings }),
    checkMetrics: new CheckMetrics({ store: service.store, clock: service.clock }),
    ...{ clock, metrics, mostWaitingBytes },
    logger: pino({}, { write: (line: string) => lines.push(line) }),
  });
  ends.push(() => remoteWrite.close());
  const counted = async () => {
    const text = await metrics.text(service.store, Date.now());
    return text.split('\n').filter((line) => line.startsWith('picket_remote_write_samples_total'));
  };
  const said = () => lines.map((line) => JSON.parse(line) as { msg: string; result?: string });
  return { clock, remoteWrite, counted, said };
}

it('writes all samples at each interval, with the headers of the protocol and the operator', async () => {
  const receiver = await startReceiver();
  const { clock, remoteWrite, counted, said } = remoteWriteTo(receiver.url, {
    REMOTE_WRITE_HEADERS: 'authorization=Bearer%20secret,x-scope-orgid=lab',
  });
  const next = await remoteWrite.turn();
  expect(next).toBe(clock.wallMs() + 60_000);
  await remoteWrite.turn();
  expect(receiver.received).toHaveLength(1);
  expect(receiver.received[0]?.headers).toMatchObject({
    ...{ 'content-type': 'application/x-protobuf', 'content-encoding': 'snappy' },
    ...{ 'x-prometheus-remote-write-version': '0.1.0', 'user-agent': expect.stringMatching(/^picket\//) },
    ...{ authorization: 'Bearer secret', 'x-scope-orgid': 'lab' },
  });
  await clock.advance(60_000);
  await remoteWrite.turn();
  expect(receiver.received).toHaveLength(2);
  expect(await counted()).toEqual([expect.stringMatching(/outcome="sent"} [1-9]/)]);
  expect(said()).toEqual([]);
});

it('retries when a receiver is too busy, no sooner than requested, and drops what it refuses', async () => {
  const receiver = await startReceiver(
    { status: 503 },
    { status: 429, headers: { 'retry-after': '7' } },
    { status: 400, text: 'out of order sample\n' },
  );
  const { clock, remoteWrite, counted, said } = remoteWriteTo(receiver.url);
  const soon = await remoteWrite.turn();
  expect(soon).toBeGreaterThan(clock.wallMs());
  expect(await remoteWrite.turn()).toBe(clock.wallMs() + 7_000);
  await remoteWrite.turn();
  expect(receiver.received.map(({ status }) => status)).toEqual([503, 429, 400]);
  const [first, ...others] = receiver.received.map(({ body }) => body);
  for (const body of others) expect(body.equals(first as Buffer)).toBe(true);
  expect(await counted()).toEqual([expect.stringContaining('outcome="refused"')]);
  await clock.advance(60_000);
  await remoteWrite.turn();
  expect(said()).toMatchObject([
    { msg: 'the remote-write receiver is unavailable; samples wait', result: 'status 503' },
    {
      msg: 'the remote-write receiver rejects samples; they are dropped',
      result: 'status 400: out of order sample',
    },
    { msg: 'the remote-write receiver accepts samples again' },
  ]);
});

it('keeps samples while a receiver is down, the newest if there are too many, and no old ones', async () => {
  const busy = Array.from({ length: 5 }, () => ({ status: 503 }));
  const receiver = await startReceiver(...busy);
  const probe = remoteWriteTo(receiver.url);
  await probe.remoteWrite.turn();
  const size = receiver.received[0]?.body.length ?? 0;
  const { clock, remoteWrite, counted } = remoteWriteTo(receiver.url, {}, size * 2.5);
  for (let minute = 0; minute < 4; minute += 1) {
    await remoteWrite.turn();
    await clock.advance(60_000);
  }
  expect(await counted()).toEqual([expect.stringContaining('outcome="dropped"')]);
  await clock.advance(2 * 60 * 60_000);
  await remoteWrite.turn();
  // All except the current samples were too old.
  expect(receiver.received.filter(({ status }) => status === 204)).toHaveLength(1);
});

it('reports errors in its settings', () => {
  const problemOf = (settings: Readonly<Record<string, string>>) => () => readServiceConfig(settings);
  expect(problemOf({ REMOTE_WRITE_HEADERS: 'a=b' })).toThrow('needs REMOTE_WRITE_URL');
  expect(problemOf({ REMOTE_WRITE_URL: 'http://user:word@prometheus/api/v1/write' })).toThrow(
    'put credentials into REMOTE_WRITE_HEADERS',
  );
  expect(problemOf({ REMOTE_WRITE_URL: 'prometheus:9090' })).toThrow('must be an http or https URL');
});
