/**
 * The program of the accuracy benchmark on the agent's host: puts a whole agent and blackbox_exporter under the same
 * loads, captures the traffic, and compares the reported times with it. Prints progress and the report as lines of
 * JSON. Lines that begin with "ask " are for the target, whose responses arrive on standard input.
 */
import { setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import { GrpcDetail } from '../../../src/checks/grpc/detail.ts';
import { GrpcSpec } from '../../../src/checks/grpc/spec.ts';
import { HttpDetail } from '../../../src/checks/http/detail.ts';
import { SslDetail } from '../../../src/checks/ssl/detail.ts';
import { SslSpec } from '../../../src/checks/ssl/spec.ts';
import { WebSocketDetail } from '../../../src/checks/websocket/detail.ts';
import { WebSocketSpec } from '../../../src/checks/websocket/spec.ts';
import { type OtlpSpan, spansOf } from '../../../src/extras/telemetry/traces/run-spans.ts';
import type { ResultReport } from '../../../src/protocol/agent/agent.ts';
import type { StoredResult } from '../../../src/service/results/ingest.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { readExchanges, type WirePhases } from '../../helpers/wire/wire.ts';
import { numberOption, textOption } from '../report.ts';
import { accuracyReport, type Measured, type PhaseErrors } from './accuracy-report.ts';
import { AgentUnderLoad } from './agent-load.ts';
import { agentDevice, type LabLine, targetAddress } from './bench-lab.ts';
import { type Blackbox, startBlackbox } from './blackbox.ts';
import { BlackboxLoad } from './blackbox-load.ts';
import { startBurners } from './burners.ts';
import { startCapture } from './capture.ts';
import { measureEcho } from './echo-accuracy.ts';
import { applyLoad, type Load, loads, probeCount } from './loads.ts';

/** Captures contain the time of day. */
const dayMs = 86_400_000;
type Scheme = (typeof schemes)[number];
const schemes = ['http', 'https', 'ssl', 'grpc', 'ws'] as const;
/** Schemes for which blackbox_exporter reports no phases. */
const ownSchemes: ReadonlySet<Scheme> = new Set(['ssl', 'grpc', 'ws']);
/** Names for `--only`. */
const names: Readonly<Record<Scheme, string>> = {
  ...{ http: 'http', https: 'https', ssl: 'ssl', grpc: 'grpc' },
  ws: 'websocket',
};
/** Exchange before the request. */
const beforeRequests = {
  http: 'nothing',
  https: 'tls',
  ssl: 'tls',
  grpc: 'settings',
  ws: 'nothing',
} as const;

/** Times that a prober reports for one probe, in milliseconds; undefined if the probe failed. */
type Reported =
  | (WirePhases & { readonly isDoubtful?: boolean; readonly spans?: readonly OtlpSpan[] })
  | undefined;

const options = { options: process.argv.slice(2) };
const seconds = numberOption(options, 'seconds', 10);
const waitMs = numberOption(options, 'wait', 100);
const only = textOption(options, 'only', '');
/** The peer never marks times as doubtful, so with burners there is nothing to compare. */
const probers = (numberOption(options, 'burners', 0) > 0 ? ['picket'] : ['picket', 'blackbox']) as readonly (
  | 'picket'
  | 'blackbox'
)[];
const burnerCount = numberOption(options, 'burners', 0);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const ports = (await nextLine()) as Record<Scheme, number>;

// Agent and peer get priority over everything except the yardsticks; children inherit the priority of their parent.
if (burnerCount === 0) setPriority(-10);
await using agent = await AgentUnderLoad.start(1000);
/** It reports no phases of handshakes alone, gRPC calls and conversations. */
const isPeerNeeded = !/^(ssl|grpc|websocket)/.test(only) && burnerCount === 0;
await using blackbox = isPeerNeeded ? await startBlackbox() : undefined;
setPriority(0);
await using burners = await startBurners(burnerCount, { core: 0 });

const measured: Measured[] = [];
for (const scheme of schemes) {
  for (const load of loads) {
    if (!`${names[scheme]} ${load.name}`.includes(only)) continue;
    for (const prober of probers) {
      if (prober === 'blackbox' && (ownSchemes.has(scheme) || !blackbox)) continue;
      const { errors, made, lost, untoldCount } = await measure(prober, scheme, load);
      const burnt = burners.count === 0 ? '' : `, ${burners.count} burners`;
      measured.push({ what: names[scheme], load: `${load.name}${burnt}`, prober, errors, made, lost });
      const total = errors.map(({ total: error }) => error);
      say({
        progress: `${scheme}, ${load.name}, ${prober}: ${total.length} of ${made} joined, ${untoldCount} without times`,
      });
    }
  }
}
if (burnerCount === 0 && ('icmp'.includes(only) || only === '')) {
  for (const row of await measureEcho(targetAddress, (text) => say({ progress: text }))) measured.push(row);
}
say({ report: accuracyReport(measured, { seconds, waitMs }) });
// No more requests follow; an open input would keep this process alive.
process.stdin.destroy();

async function measure(prober: 'picket' | 'blackbox', scheme: Scheme, load: Load) {
  const origin = `${scheme}://${targetAddress}:${ports[scheme]}`;
  // Handshakes alone do not wait: a higher concurrency does not increase their rate.
  const count =
    scheme === 'ssl'
      ? Math.min(probeCount(load, seconds, 5), seconds * 200)
      : probeCount(load, seconds, waitMs + 5);
  // First runs are not representative.
  await reportedBy(prober, { name: 'warm-up', kind: 'in-flight', count: 10 }, 20, `${origin}/warm-up`);
  await ask();
  await using capture = await startCapture(agentDevice, `tcp port ${ports[scheme]}`);
  const reported = await reportedBy(prober, load, count, `${origin}/probe`);
  const dropped = await capture.stop();
  const portByPath = (await ask()) as Record<string, number>;
  const exchanges = await readExchanges(capture.path, {
    serverPort: ports[scheme],
    before: beforeRequests[scheme],
    waitMs: scheme === 'ssl' ? null : waitMs,
  });
  const errors: PhaseErrors[] = [];
  let untoldCount = 0;
  for (let index = 0; index < count; index += 1) {
    const told = reported.get(index);
    const truth = exchanges.get(portByPath[`/probe-${index}`] ?? 0);
    if (!told) untoldCount += 1;
    if (!told || !truth) continue;
    errors.push({
      connect: told.connect - truth.connect,
      tls: told.tls - truth.tls,
      wait: told.wait - truth.wait,
      total: told.total - truth.total,
      spans: spanErrorOf(told, truth),
      trueTotal: truth.total,
      isDoubtful: told.isDoubtful,
    });
  }
  return { errors, made: count, lost: dropped, untoldCount };
}

/** The largest error of a span boundary: start and end of the connection, and of the response. */
function spanErrorOf({ spans }: NonNullable<Reported>, { atMs }: WirePhases): number | undefined {
  if (!spans || !atMs) return undefined;
  const boundsOf = (...names: string[]) => {
    const span = spans.find(({ name }) => names.includes(name));
    return (
      span &&
      [span.startTimeUnixNano, span.endTimeUnixNano].map(
        (time) => (Number(BigInt(time) / 1000n) / 1000) % dayMs,
      )
    );
  };
  const [connected, answered, downloaded] = [['tcp', 'connection'], ['firstByte'], ['download']].map(
    (names) => boundsOf(...names),
  );
  const [syn, synAck, first, last] = atMs;
  const pairs = [
    [connected?.[0], syn],
    [connected?.[1], synAck],
    [answered?.[1], first],
    [downloaded?.[1], last],
  ] as const;
  const errors = pairs.flatMap(([told, truth]) => (told === undefined ? [] : [Math.abs(told - truth)]));
  return errors.length === 0 ? undefined : Math.max(...errors);
}

/** The spans that a service derives from a result. */
function spansIn(result: ResultReport): readonly OtlpSpan[] {
  const row = {
    ...{ id: '', check_id: '', check_type: 'URL', run_location: '', agent_id: '' },
    ...{ has_failures: 0, has_errors: 0, is_degraded: 0, code: null, message: null },
    ...{ started: result.startedAt, stopped: result.stoppedAt },
  };
  const stored = { run: { id: '', attempt: 0 }, row, detail: result.detail } as unknown as StoredResult;
  return spansOf(stored, 'Accuracy').spans;
}

async function reportedBy(
  prober: 'picket' | 'blackbox',
  load: Load,
  count: number,
  prefix: string,
): Promise<ReadonlyMap<number, Reported>> {
  const urlOf = (index: number) => `${prefix}-${index}`;
  if (prober === 'blackbox' && blackbox) return await blackboxReports(blackbox, load, count, urlOf);
  const runs = Array.from({ length: count }, (_, index) => runOf(urlOf(index)));
  await applyLoad(load, count, {
    async closedLoop(first, end, inFlight) {
      // Also counts results of earlier bursts.
      const before = agent.resultCount;
      if (before === 0) await agent.runClosedLoop(runs.slice(first, end), inFlight);
      else {
        agent.lease(...runs.slice(first, end));
        await agent.untilResults(before + end - first);
      }
    },
    start: (index) => agent.lease(...runs.slice(index, index + 1)),
    ended: (ended) => agent.untilResults(ended),
  });
  const indexOfRun = new Map(runs.map(({ runId }, index) => [runId, index]));
  return new Map(agent.collect().map((result) => [indexOfRun.get(result.runId) ?? -1, phasesIn(result)]));
}

function runOf(url: string) {
  if (url.startsWith('ws:')) return webSocketRun(url);
  if (url.startsWith('ssl:')) return sslRun(new URL(url));
  return url.startsWith('grpc:') ? grpcRun(new URL(url)) : httpRun(url);
}

/** The server identifies calls by their metadata. */
function grpcRun({ href, port, pathname }: URL) {
  const metadata = [{ key: 'path', value: pathname }];
  const grpcConfig = { mode: 'HEALTH', tls: false, metadata };
  const spec = GrpcSpec.parse({ request: { url: targetAddress, port: Number(port), grpcConfig } });
  return leasedRun(href, {
    check: { id: crypto.randomUUID(), name: 'Accuracy', checkType: 'GRPC', spec },
  });
}

/** The server identifies handshakes by their server names. */
function sslRun({ href, port, pathname }: URL) {
  const serverName = `${pathname.slice(1)}.bench.test`;
  const sslConfig = { hostname: targetAddress, port: Number(port), serverName, skipChainValidation: true };
  const spec = SslSpec.parse({ request: { sslConfig } });
  return leasedRun(href, {
    check: { id: crypto.randomUUID(), name: 'Accuracy', checkType: 'SSL', spec },
  });
}

/** One message, some time after the handshake. */
function webSocketRun(url: string) {
  const spec = WebSocketSpec.parse({ request: { url, steps: [{ type: 'EXPECT' }] } });
  return leasedRun(url, {
    check: { id: crypto.randomUUID(), name: 'Accuracy', checkType: 'WEBSOCKET', spec },
  });
}

function httpRun(url: string) {
  const spec = { request: { url, skipSSL: true } };
  return leasedRun(url, {
    check: { id: crypto.randomUUID(), name: 'Accuracy', checkType: 'URL', spec },
  });
}

function phasesIn(result: ResultReport): Reported {
  if (result.failure !== null) return undefined;
  const handshake = SslDetail.safeParse(result.detail);
  if (handshake.success) return handshakePhases(handshake.data, result);
  const conversation = WebSocketDetail.safeParse(result.detail);
  if (conversation.success) return conversationPhases(conversation.data, result);
  const call = GrpcDetail.safeParse(result.detail);
  if (call.success) return callPhases(call.data, result);
  const phases = HttpDetail.parse(result.detail).response.timingPhases;
  if (!phases) return undefined;
  const { tcp: connect, tls, proxy, firstByte, download } = phases;
  const wait = firstByte - tls - proxy;
  // An address needs no lookup; time outside these phases is the agent's own and part of none of them.
  const { responseTimeMs: total, isTimingDoubtful: isDoubtful } = result;
  return { connect, tls, wait, download, total, isDoubtful, spans: spansIn(result) };
}

function handshakePhases({ response }: SslDetail, result: ResultReport): Reported {
  if (!response) return undefined;
  const { connection: connect, tls } = response.timingPhases;
  const { responseTimeMs: total, isTimingDoubtful: isDoubtful } = result;
  return { connect, tls, wait: 0, download: 0, total, isDoubtful };
}

function conversationPhases({ response }: WebSocketDetail, result: ResultReport): Reported {
  if (!response) return undefined;
  const { connect, tls, handshake: wait, messages: download } = response.timingPhases;
  const { responseTimeMs: total, isTimingDoubtful: isDoubtful } = result;
  return { connect, tls, wait, download, total, isDoubtful };
}

/** The settings take the place of TLS, which is not used. */
function callPhases({ response }: GrpcDetail, result: ResultReport): Reported {
  if (!response) return undefined;
  const { connect, settings: tls, wait, download } = response.timingPhases;
  const { responseTimeMs: total, isTimingDoubtful: isDoubtful } = result;
  return { connect, tls, wait, download, total, isDoubtful };
}

async function blackboxReports(
  peer: Blackbox,
  load: Load,
  count: number,
  urlOf: (index: number) => string,
): Promise<ReadonlyMap<number, Reported>> {
  const loaded = new BlackboxLoad(peer, urlOf);
  await applyLoad(load, count, loaded);
  return new Map([...loaded.metrics].map(([index, metrics]) => [index, phasesOfPeer(metrics)]));
}

function phasesOfPeer(metrics: ReadonlyMap<string, number>): Reported {
  if (metrics.get('probe_success') !== 1) return undefined;
  const phaseMs = (name: string) =>
    (metrics.get(`probe_http_duration_seconds{phase="${name}"}`) ?? Number.NaN) * 1000;
  const [connect, tls, wait, download] = ['connect', 'tls', 'processing', 'transfer'].map(phaseMs);
  if (connect === undefined || tls === undefined || wait === undefined || download === undefined) {
    return undefined;
  }
  return { connect, tls, wait, download, total: connect + tls + wait + download };
}

async function nextLine(): Promise<unknown> {
  const { value, done } = await lines.next();
  if (done) throw new Error('the target is gone');
  return JSON.parse(value);
}

async function ask(): Promise<unknown> {
  process.stdout.write('ask ports\n');
  return await nextLine();
}

function say(line: LabLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
