import { wireAddress } from '@picket/probes/address.ts';
import { type Capture, CaptureUnavailable, ConnectionCapture } from '@picket/probes/capture/capture.ts';
import type { ContactAttempt } from '@picket/probes/connection/target.ts';
import { type IcmpBackend, IcmpUnavailable } from '@picket/probes/icmp/backend.ts';
import { openIcmpBackend } from '@picket/probes/icmp/open-backend.ts';
import { type Libc, loadLibc, SysUnavailable } from '@picket/probes/sys/libc.ts';
import { echoProber } from '@picket/probes/traceroute/hop-prober.ts';
import { lastAnswerer, routeSummary, routeText } from '@picket/probes/traceroute/route-text.ts';
import { type Route, traceRoute } from '@picket/probes/traceroute/traceroute.ts';
import type { DiagnosedRoute } from '../contract/facts.ts';
import { DiagnosisGate } from './diagnosis-gate.ts';
import {
  captureName,
  type DiagnosisControls,
  type Findings,
  type Repetition,
  routeName,
} from './evidence.ts';

const maxRouteMs = 5000;
/** Time for the peer's last packets, which arrive after the exchange has failed. */
const lateMs = 100;
const captureLimits = { maxPackets: 2000, maxBytes: 1024 * 1024 };
/** Enough for the record header and the start of an alert; all of it is public or encrypted. */
const tlsPayloadBytes = 96;
/** The header of a DNS message: it contains the response code, but no name. */
const dnsPayloadBytes = 12;

/** Repeats the exchange, or the part of it that does no harm, and captures its packets. */
export async function findCapture(
  subject: {
    readonly peer: ContactAttempt;
    readonly repetition: Repetition;
    /** Whether the repetition contacts no other peer first. */
    readonly isOnlyPeer: boolean;
  },
  controls: DiagnosisControls,
): Promise<Findings> {
  const { peer, repetition } = subject;
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
    const outcome = await repetition.run({
      ...controls,
      timeoutMs: controls.timeoutMs - lateMs,
      onAttempt: (attempt) => {
        const localPort = attempt.localPort();
        if (localPort === undefined || !isSamePeer(attempt, peer)) return;
        capture.watch(localPort);
        if (subject.isOnlyPeer) capture.narrow();
      },
    });
    await new Promise((resolve) => setTimeout(resolve, lateMs));
    const isOne = repetition.what !== 'pings';
    const doing = `the ${repetition.what} ${isOne ? 'was' : 'were'} repeated and ${outcome}`;
    return captureFindings(await capture.stop(), doing);
  } catch (thrown) {
    await capture.stop();
    throw thrown;
  }
}

async function startCapture(attempt: ContactAttempt): Promise<ConnectionCapture> {
  const { address, port, protocol } = attempt;
  const state = means();
  state.libc ??= loadLibc();
  const peer = wireAddress({ address: withoutZone(address), family: address.includes(':') ? 6 : 4 });
  const scope = { ...peer, port, protocol, payloadBytes: keptPayloadBytes(attempt) };
  return ConnectionCapture.start(await state.libc, scope, captureLimits);
}

/** Returns how many bytes after the headers may be captured: only those that cannot contain a secret. */
function keptPayloadBytes({ protocol, isSecure }: ContactAttempt): number {
  if (protocol === 'udp') return dnsPayloadBytes;
  return isSecure ? tlsPayloadBytes : 0;
}

function captureFindings({ file, packetCount, isFull, droppedPackets }: Capture, outcome: string): Findings {
  if (packetCount === 0) return { remarks: [`no packet capture: no packets were seen (${outcome})`] };
  const limit = isFull ? ', the maximum' : '';
  const lost = droppedPackets > 0 ? `; ${droppedPackets} were lost at high rate` : '';
  const remark = `${captureName} has ${packetCount} packets${limit}${lost}; ${outcome}`;
  return { remarks: [remark], capture: file };
}

/** Traces the route to the peer's address. */
export async function findRoute(peer: ContactAttempt, controls: DiagnosisControls): Promise<Findings> {
  const { hostname } = peer;
  const { address, family } = wireAddress({
    address: peer.address,
    family: peer.address.includes(':') ? 6 : 4,
  });
  const refusal = controls.egress.refusal({ hostname, address });
  if (refusal !== undefined) return { remarks: [`no traceroute: ${refusal.message}`] };
  let backend: IcmpBackend;
  try {
    backend = await icmpBackend();
  } catch (thrown) {
    if (!(thrown instanceof IcmpUnavailable)) throw thrown;
    return { remarks: [`no traceroute: ${thrown.message}`] };
  }
  const startedAt = new Date();
  const timeoutMs = Math.min(maxRouteMs, controls.timeoutMs);
  const route = await traceRoute(
    { address, family },
    { prober: echoProber(backend), signal: controls.signal, timeoutMs },
  );
  const text = routeText(route, { hostname, address, family, startedAt, means: backend.description });
  return { remarks: [`${routeName}: ${routeSummary(route)}`], route: { path: diagnosedRoute(route), text } };
}

function diagnosedRoute({ hops, end }: Route): DiagnosedRoute {
  const known = hops.map(({ ttl, answers }) => ({
    hopNumber: ttl,
    ips: [...new Set(answers.flatMap((one) => (one.kind === 'answer' ? (one.address ?? []) : [])))],
  }));
  return { end, router: end === 'unreachable' ? (lastAnswerer(hops) ?? null) : null, hops: known };
}

function isSamePeer(attempt: ContactAttempt, peer: ContactAttempt): boolean {
  return attempt.protocol === peer.protocol && attempt.address === peer.address && attempt.port === peer.port;
}

function isUnavailable(thrown: unknown): thrown is Error {
  return thrown instanceof CaptureUnavailable || thrown instanceof SysUnavailable;
}

function withoutZone(address: string): string {
  return address.split('%', 1)[0] ?? address;
}

/** State that all diagnoses of this thread share, created by the first. */
interface EvidenceTools {
  readonly gate: DiagnosisGate;
  libc: Promise<Libc> | undefined;
  backend: Promise<IcmpBackend> | undefined;
}

let shared: EvidenceTools | undefined;

function means(): EvidenceTools {
  shared ??= { gate: new DiagnosisGate(() => performance.now()), libc: undefined, backend: undefined };
  return shared;
}

/** Returns the only gate of this thread. */
export function diagnosisGate(): DiagnosisGate {
  return means().gate;
}

/** Opened once: an idle backend costs nothing, and a missing capability stays missing. */
async function icmpBackend(): Promise<IcmpBackend> {
  const state = means();
  state.backend ??= openIcmpBackend();
  try {
    return await state.backend;
  } catch (thrown) {
    // Any other error, such as too many open files, may be temporary.
    if (!(thrown instanceof IcmpUnavailable)) state.backend = undefined;
    throw thrown;
  }
}
