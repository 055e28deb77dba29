import { toError } from '../../lib/errors.ts';
import { hostAndPort, wireAddress } from '../../probes/address.ts';
import { type Capture, CaptureUnavailable, ConnectionCapture } from '../../probes/capture/capture.ts';
import type { ConnectionAttempt } from '../../probes/connection/target.ts';
import { type IcmpBackend, IcmpUnavailable } from '../../probes/echo/backend.ts';
import {
  type HttpProbeControls,
  type HttpProbeRequest,
  type HttpProbeResult,
  probeHttp,
} from '../../probes/http/probe.ts';
import { openIcmpBackend } from '../../probes/icmp/open-backend.ts';
import { type Libc, loadLibc, SysUnavailable } from '../../probes/sys/libc.ts';
import { routeSummary, routeText } from '../../probes/traceroute/route-text.ts';
import { traceRoute } from '../../probes/traceroute/traceroute.ts';
import type { ArtifactSink, RunContext } from '../contract/check-type.ts';
import { failureCatalogue } from '../contract/failure.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { DiagnosisGate } from './diagnosis-gate.ts';
import { isRepeatable, repeatConnection, repeatRequest } from './repeat.ts';

/** What a result shows of a diagnosis: names of artifacts. */
export interface Evidence {
  readonly pcapDataUrl: string | null;
  readonly jobAssets: string[] | null;
}

export const noEvidence: Evidence = { pcapDataUrl: null, jobAssets: null };

const captureName = 'network.pcap';
const routeName = 'traceroute.txt';

/**
 * A request without an answer is diagnosed while it still hangs, when this much of its time is left, or this
 * part of it.
 */
const hangingReserveMs = 8000;
const hangingReserveShare = 0.4;
/** Less time than this shows nothing. */
const minDiagnosisMs = 1000;
const maxDiagnosisMs = 8000;
const maxRouteMs = 5000;
/** Left for handing the evidence over before the run's time is over. */
const marginMs = 300;
/** The peer's last packets arrive after a connection has failed. */
const lateMs = 100;
const captureLimits = { maxPackets: 2000, maxBytes: 1024 * 1024 };
/** Enough for the record header and the start of an alert; all of it is public or encrypted. */
const tlsPayloadBytes = 96;

/** What was found out; nothing of it has been written anywhere yet. */
interface Findings {
  readonly remarks: readonly string[];
  readonly capture?: Buffer | undefined;
  readonly route?: string | undefined;
}

/** What is diagnosed. */
interface Subject {
  readonly request: HttpProbeRequest;
  /** The connection that failed, or hangs. */
  readonly peer: ConnectionAttempt;
  /** How far the request is repeated for the capture. */
  readonly repetition: 'request' | 'connection';
  /** Whether it took no other connection to get there. */
  readonly isFirstConnection: boolean;
}

/**
 * Sends the request of a check, and gathers evidence when the network fails it: a capture of the connection's
 * packets while the request is repeated, and a route to the target. The result is that of the first request
 * alone, times and all.
 *
 * A request that failed is diagnosed at once. One that hangs would leave no time for that, so it is diagnosed
 * while it hangs, shortly before its time is over; should it be answered after all, what was found is
 * forgotten.
 */
export async function probeWithDiagnosis(
  request: HttpProbeRequest,
  controls: HttpProbeControls,
  context: RunContext,
): Promise<{ readonly result: HttpProbeResult; readonly evidence: Evidence }> {
  const { artifacts } = context;
  if (!artifacts) return { result: await probeHttp(request, controls), evidence: noEvidence };
  const { timeoutMs } = controls;
  const endMs = performance.now() + timeoutMs - marginMs;
  // Made only when it is needed: an abort makes an error with a stack, which costs more than much else of a
  // run.
  let stop: AbortController | undefined;
  const attempts: ConnectionAttempt[] = [];
  let findings: Promise<Findings> | undefined;
  const begin = (peer: ConnectionAttempt, repetition: Subject['repetition']) => {
    stop = new AbortController();
    return diagnose(
      { request, peer, repetition, isFirstConnection: attempts.length === 1 },
      {
        ...controls,
        signal: AbortSignal.any([controls.signal, stop.signal]),
        timeoutMs: Math.min(maxDiagnosisMs, endMs - performance.now()),
      },
    );
  };
  const reserveMs = Math.min(hangingReserveMs, timeoutMs * hangingReserveShare);
  const timer = setTimeout(() => {
    const peer = attempts.at(-1);
    if (peer && !request.proxy) findings = begin(peer, 'connection');
  }, timeoutMs - reserveMs);
  try {
    const result = await probeHttp(request, {
      ...controls,
      onAttempt: (attempt) => attempts.push(attempt),
    });
    clearTimeout(timer);
    if (!isDiagnosed(result)) return { result, evidence: noEvidence };
    const peer = attempts.at(-1);
    if (!findings) {
      const obstacle = obstacleTo(request, result);
      if (obstacle !== undefined) findings = Promise.resolve(nothing(obstacle));
      else if (!peer) findings = Promise.resolve(nothing('no connection was begun'));
      else findings = begin(peer, isRepeatable(request.method) ? 'request' : 'connection');
    }
    return { result, evidence: await keep(await findings, artifacts, context) };
  } finally {
    clearTimeout(timer);
    stop?.abort();
    // It belongs to this run, and nothing of it may outlive the run.
    await findings;
  }
}

/** Only the network on the way to the target, and only when the target is to blame, is worth it. */
function isDiagnosed({ error }: HttpProbeResult): boolean {
  if (!error) return false;
  const { owner, isNetworkError } = failureCatalogue[probeFailure(error).code];
  return owner === 'target' && isNetworkError;
}

function obstacleTo({ proxy }: HttpProbeRequest, { error }: HttpProbeResult): string | undefined {
  if (proxy) return 'the connection goes through a proxy';
  // In a chain of redirects the last connection was another host's.
  if (error?.phase === 'dns') return 'the name has no address to connect to';
  return undefined;
}

const nothing = (reason: string): Findings => ({
  remarks: [`no packet capture and no traceroute: ${reason}`],
});

/** Never rejects: whatever breaks here is no reason to lose the result of the check. */
async function diagnose(subject: Subject, controls: HttpProbeControls): Promise<Findings> {
  const { peer } = subject;
  if (controls.timeoutMs < minDiagnosisMs) return nothing('too little of the time of the run is left');
  const { gate } = means();
  const refusal = gate.enter(hostAndPort(peer.address, peer.port));
  if (refusal !== undefined) return nothing(refusal);
  try {
    const [capture, route] = await Promise.all([captureOf(subject, controls), routeTo(peer, controls)]);
    return { ...capture, ...route, remarks: [...capture.remarks, ...route.remarks] };
  } catch (thrown) {
    return nothing(`the diagnosis broke: ${toError(thrown).message}`);
  } finally {
    gate.leave();
  }
}

/** Repeats the request, or its connection, and captures that. */
async function captureOf(subject: Subject, controls: HttpProbeControls): Promise<Findings> {
  const { request, peer, repetition } = subject;
  let capture: ConnectionCapture;
  try {
    capture = await startCapture(peer);
  } catch (thrown) {
    if (!isUnavailable(thrown)) throw thrown;
    return { remarks: [`no packet capture: ${thrown.message}`] };
  }
  try {
    const hangingPort = peer.localPort();
    if (hangingPort !== undefined) capture.watch(hangingPort);
    const repeat = repetition === 'request' ? repeatRequest : repeatConnection;
    const outcome = await repeat(request, peer, {
      ...controls,
      timeoutMs: controls.timeoutMs - lateMs,
      onAttempt: (attempt) => {
        const localPort = attempt.localPort();
        if (localPort === undefined || !isSamePeer(attempt, peer)) return;
        capture.watch(localPort);
        // A request that is redirected may come back to the same peer.
        if (subject.isFirstConnection || repetition === 'connection') capture.narrow();
      },
    });
    await new Promise((resolve) => setTimeout(resolve, lateMs));
    return captureFindings(await capture.stop(), `the ${repetition} was repeated and ${outcome}`);
  } catch (thrown) {
    await capture.stop();
    throw thrown;
  }
}

async function startCapture({ address, port, isSecure }: ConnectionAttempt): Promise<ConnectionCapture> {
  const state = means();
  state.libc ??= loadLibc();
  const peer = wireAddress({ address: withoutZone(address), family: address.includes(':') ? 6 : 4 });
  const scope = { ...peer, port, payloadBytes: isSecure ? tlsPayloadBytes : 0 };
  return ConnectionCapture.start(await state.libc, scope, captureLimits);
}

function captureFindings({ file, packetCount, isFull, droppedPackets }: Capture, outcome: string): Findings {
  if (packetCount === 0) return { remarks: [`no packet capture: not one packet was seen (${outcome})`] };
  const limit = isFull ? ', all it may hold' : '';
  const lost = droppedPackets > 0 ? `; ${droppedPackets} came too fast and were lost` : '';
  const remark = `${captureName} has ${packetCount} packets${limit}${lost}; ${outcome}`;
  return { remarks: [remark], capture: file };
}

/** The route to the peer's address. */
async function routeTo(peer: ConnectionAttempt, controls: HttpProbeControls): Promise<Findings> {
  const { hostname } = peer;
  const { address, family } = wireAddress({
    address: peer.address,
    family: peer.address.includes(':') ? 6 : 4,
  });
  const refusal = controls.egress.refusal({ hostname, address });
  if (refusal !== undefined) return { remarks: [`no traceroute: ${refusal}`] };
  let backend: IcmpBackend;
  try {
    backend = await icmpBackend();
  } catch (thrown) {
    if (!(thrown instanceof IcmpUnavailable)) throw thrown;
    return { remarks: [`no traceroute: ${thrown.message}`] };
  }
  const startedAt = new Date();
  const timeoutMs = Math.min(maxRouteMs, controls.timeoutMs);
  const route = await traceRoute({ address, family }, { backend, signal: controls.signal, timeoutMs });
  const text = routeText(route, { hostname, address, family, startedAt, means: backend.description });
  return { remarks: [`${routeName}: ${routeSummary(route)}`], route: text };
}

/** Hands the evidence over and writes the remarks to the run's log. */
async function keep(findings: Findings, sink: ArtifactSink, { log }: RunContext): Promise<Evidence> {
  for (const remark of findings.remarks) log.write('INFO', `Diagnosis: ${remark}`);
  const { capture, route } = findings;
  const isCaptureKept =
    capture !== undefined &&
    (await sink.add({ name: captureName, contentType: 'application/vnd.tcpdump.pcap', content: capture }));
  const isRouteKept =
    route !== undefined &&
    (await sink.add({
      name: routeName,
      contentType: 'text/plain; charset=utf-8',
      content: Buffer.from(route),
    }));
  return { pcapDataUrl: isCaptureKept ? captureName : null, jobAssets: isRouteKept ? [routeName] : null };
}

function isSamePeer(attempt: ConnectionAttempt, peer: ConnectionAttempt): boolean {
  return attempt.address === peer.address && attempt.port === peer.port;
}

function isUnavailable(thrown: unknown): thrown is Error {
  return thrown instanceof CaptureUnavailable || thrown instanceof SysUnavailable;
}

function withoutZone(address: string): string {
  return address.split('%', 1)[0] ?? address;
}

/** What all diagnoses of this thread share, made by the first. */
interface Means {
  readonly gate: DiagnosisGate;
  libc: Promise<Libc> | undefined;
  backend: Promise<IcmpBackend> | undefined;
}

let shared: Means | undefined;

function means(): Means {
  shared ??= { gate: new DiagnosisGate(() => performance.now()), libc: undefined, backend: undefined };
  return shared;
}

/** Opened once: an idle backend costs nothing, and what does not work here will not work in a minute. */
async function icmpBackend(): Promise<IcmpBackend> {
  const state = means();
  state.backend ??= openIcmpBackend();
  try {
    return await state.backend;
  } catch (thrown) {
    // Anything else, such as too many open files, may pass.
    if (!(thrown instanceof IcmpUnavailable)) state.backend = undefined;
    throw thrown;
  }
}
