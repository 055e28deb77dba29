import { type Conclusion, shown } from '../conclusion.ts';
import { type AnalysisInput, impactOf } from '../run-view/case.ts';
import type { RunView } from '../run-view/run-view.ts';
import { companyItems, sentence } from './location.ts';

/** A phase has grown if it takes 1.5 times as long as in the slowest pass, and at least 20 ms more. */
const [growth, leastMs] = [1.5, 20];
/** With fewer passes the usual duration is unknown. */
const minPasses = 1;

const phaseWords: Readonly<Record<string, { readonly what: string; readonly next: string }>> = {
  dns: {
    what: 'the DNS lookup',
    next: 'Look at the resolver of the location and the name servers of the domain.',
  },
  tcp: {
    what: 'the connection setup',
    next: 'Look at the network between the location and the target: its route, load and packet loss.',
  },
  connection: {
    what: 'the connection setup',
    next: 'Look at the network between the location and the target: its route, load and packet loss.',
  },
  proxy: { what: 'the connection through the proxy', next: 'Look at the load of the proxy.' },
  tls: {
    what: 'the TLS handshake',
    next: 'Look at the load of the server, and at its certificates and session resumption.',
  },
  auth: {
    what: 'the login',
    next: 'Look at the directory or domain controller that the server asks about users, and at the path to it.',
  },
  firstByte: {
    what: 'the time to first byte of the server',
    next: 'Look at the server: its load, its database, the services it calls, and its last release.',
  },
  data: { what: 'the response time of the server', next: 'Look at the load of the server.' },
  download: {
    what: 'the download of the body',
    next: 'Look at the size of the response, at the time the server takes to generate it, and at the bandwidth of the path.',
  },
};

/** Slower than allowed: names the phase that has grown. */
export function grownPhase(given: AnalysisInput): Conclusion | undefined {
  const { run, passes } = given;
  const isLate =
    run.code === 'MAX_RESPONSE_TIME_EXCEEDED' ||
    (run.code === 'ASSERTION_FAILED' &&
      run.assertions.some((one) => one.failed) &&
      run.assertions.every((one) => !one.failed || /_TIME$|^LATENCY$/.test(one.source)));
  if (!isLate) return undefined;
  const told = {
    owner: 'target' as const,
    classification: 'PERFORMANCE_ERROR' as const,
    impact: impactOf(given, 'Users wait longer than usual.'),
  };
  const grown = grownMost(run, passes);
  if (!grown) {
    return {
      ...told,
      certainty: 'OPEN',
      cause: `The response of ${given.target} took ${Math.round(run.result.responseTime)} ms. ${passes.length >= minPasses ? 'No single phase is much longer than in runs that passed' : 'There is no earlier pass to compare it with'}; DNS, connection and TLS work. ${sentence(run.message)}`,
      next: 'Watch the response times of the check by phase; if they are normal, raise the limit.',
      evidence: [shown(run.message, 'phases', 'error'), ...companyItems(given)],
    };
  }
  const { name, ms, usualMs } = grown;
  const words = phaseWords[name] ?? { what: name, next: 'Look at the phases of the run.' };
  return {
    ...told,
    certainty: 'LIKELY',
    cause: `The response of ${given.target} is too slow because ${words.what} takes longer than before: ${Math.round(ms)} ms, compared with at most ${Math.round(usualMs)} ms in earlier passes. ${sentence(run.message)}`,
    next: words.next,
    evidence: [
      shown(`${name}: ${Math.round(ms)} ms now`, 'phases'),
      shown(`${name}: ${Math.round(usualMs)} ms at most before`, 'lastPass'),
      ...companyItems(given),
    ],
  };
}

/** A response that did not arrive, or did not complete, in time. */
export function lateAnswer(given: AnalysisInput): Conclusion | undefined {
  const { run, before } = given;
  if (run.code !== 'RESPONSE_TIMEOUT') return undefined;
  const isBody = run.details.timedOutIn === 'download';
  const isTls = run.details.timedOutIn === 'tls';
  const usual = before?.phases.get(isBody ? 'download' : 'firstByte');
  return {
    certainty: 'LIKELY',
    owner: 'target',
    classification: 'PERFORMANCE_ERROR',
    cause: `${given.target} accepted the ${isTls ? 'connection' : 'request'} and ${isBody ? 'began its response, but did not finish it' : isTls ? 'did not finish the TLS handshake' : 'sent no byte of a response'} in time${usual === undefined ? '' : ` (it took ${Math.round(usual)} ms at the last pass)`}. ${sentence(run.message)} The connection works, so the program behind it hangs, is overloaded or waits for a dependency.`,
    impact: impactOf(given, 'Users wait and get no response.'),
    next: isBody
      ? 'Look at the code that generates the response body, and at the load of the server.'
      : 'Look at the load of the server and at its dependencies: its database, its locks, the services it calls.',
    evidence: [
      shown(run.message, 'error', ...run.files),
      ...(before ? [shown('The last pass', 'lastPass', 'phases')] : []),
      ...companyItems(given),
    ],
  };
}

/** Phase that grew most compared with the slowest of the passes. */
function grownMost(run: RunView, passes: readonly RunView[]) {
  if (passes.length < minPasses) return undefined;
  const own = new Map(run.phases);
  own.delete('total');
  own.delete('wait');
  const grown = [...own].flatMap(([name, whole]) => {
    // firstByte includes TLS and the login, which are also separate phases.
    const part = (phases: ReadonlyMap<string, number>, ms: number) =>
      name === 'firstByte' ? ms - (phases.get('tls') ?? 0) - (phases.get('auth') ?? 0) : ms;
    const known = passes.flatMap(({ phases }) => {
      const ms = phases.get(name);
      return ms === undefined ? [] : [{ ms, ownMs: part(phases, ms) }];
    });
    const slowest = known.toSorted((left, right) => right.ownMs - left.ownMs)[0];
    if (!slowest) return [];
    const moreMs = part(run.phases, whole) - slowest.ownMs;
    const isGrown = moreMs > leastMs && part(run.phases, whole) > slowest.ownMs * growth;
    return isGrown ? [{ name, ms: whole, usualMs: slowest.ms, moreMs }] : [];
  });
  return grown.toSorted((left, right) => right.moreMs - left.moreMs)[0];
}
