import { type Conclusion, shown } from '../conclusion.ts';
import { type Case, impactOf } from '../seen/case.ts';
import type { RunView } from '../seen/run-view.ts';
import { companyItems, sentence } from './location.ts';

/** A phase has grown when it takes 1.5 times as long as in the slowest pass, and 20 ms more. */
const [growth, leastMs] = [1.5, 20];
/** With less passes than this nobody knows what is usual. */
const minPasses = 1;

const phaseWords: Readonly<Record<string, { readonly what: string; readonly next: string }>> = {
  dns: {
    what: 'the lookup of the name',
    next: 'Look at the resolver of the location and the name servers of the domain.',
  },
  tcp: {
    what: 'the making of the connection',
    next: 'Look at the network between the location and the target: the route, its load and losses.',
  },
  connection: {
    what: 'the making of the connection',
    next: 'Look at the network between the location and the target: the route, its load and losses.',
  },
  proxy: { what: 'the way through the proxy', next: 'Look at the load of the proxy.' },
  tls: {
    what: 'the TLS handshake',
    next: 'Look at the load of the server, and at its certificates and session resumption.',
  },
  firstByte: {
    what: 'the work of the server until its first byte',
    next: 'Look at the server: its load, its database, what it calls, and its last release.',
  },
  data: { what: 'the work of the server until its answer', next: 'Look at the load of the server.' },
  download: {
    what: 'the transfer of the body',
    next: 'Look at the size of the answer, at how the server makes it, and at the bandwidth on the way.',
  },
};

/** Slower than it may be: which phase has grown. */
export function grownPhase(given: Case): Conclusion | undefined {
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
      cause: `The answer of ${given.target} took ${Math.round(run.result.responseTime)} ms. ${passes.length >= minPasses ? 'No single phase is much longer than in runs that passed' : 'No run that passed is known to compare it with'}; that it was answered rules out name, connection and TLS as broken. ${sentence(run.message)}`,
      next: 'Watch the response times of the check by phase; if they are usual, raise the limit.',
      evidence: [shown(run.message, 'phases', 'error'), ...companyItems(given)],
    };
  }
  const { name, ms, usualMs } = grown;
  const words = phaseWords[name] ?? { what: name, next: 'Look at the phases of the run.' };
  return {
    ...told,
    certainty: 'LIKELY',
    cause: `The answer of ${given.target} comes too late, and what takes longer than before is ${words.what}: ${Math.round(ms)} ms, and ${Math.round(usualMs)} ms at most in the passes before. ${sentence(run.message)}`,
    next: words.next,
    evidence: [
      shown(`${name}: ${Math.round(ms)} ms now`, 'phases'),
      shown(`${name}: ${Math.round(usualMs)} ms at most before`, 'lastPass'),
      ...companyItems(given),
    ],
  };
}

/** An answer that was begun or waited for, and not there in time. */
export function lateAnswer(given: Case): Conclusion | undefined {
  const { run, before } = given;
  if (run.code !== 'RESPONSE_TIMEOUT') return undefined;
  const isBody = run.details.timedOutIn === 'download';
  const isTls = run.details.timedOutIn === 'tls';
  const usual = before?.phases.get(isBody ? 'download' : 'firstByte');
  return {
    certainty: 'LIKELY',
    owner: 'target',
    classification: 'PERFORMANCE_ERROR',
    cause: `${given.target} accepted the ${isTls ? 'connection' : 'request'} and ${isBody ? 'began its answer, but did not get to its end' : isTls ? 'did not finish the TLS handshake' : 'sent no byte of an answer'} in time${usual === undefined ? '' : ` (it took ${Math.round(usual)} ms at the last pass)`}. ${sentence(run.message)} The connection works, so the program behind it hangs, is overloaded or waits for something itself.`,
    impact: impactOf(given, 'Users wait without an answer.'),
    next: isBody
      ? 'Look at what makes the body of the answer, and at the load of the server.'
      : 'Look at the load of the server and at what it waits for: its database, its locks, what it calls.',
    evidence: [
      shown(run.message, 'error', ...run.files),
      ...(before ? [shown('The last pass', 'lastPass', 'phases')] : []),
      ...companyItems(given),
    ],
  };
}

/** The phase that grew most against the slowest of the passes. */
function grownMost(run: RunView, passes: readonly RunView[]) {
  if (passes.length < minPasses) return undefined;
  const own = new Map(run.phases);
  own.delete('total');
  own.delete('wait');
  const grown = [...own].flatMap(([name, whole]) => {
    // firstByte holds TLS, which is a phase of its own.
    const part = (phases: ReadonlyMap<string, number>, ms: number) =>
      name === 'firstByte' ? ms - (phases.get('tls') ?? 0) : ms;
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
