import { failureCatalogue, isFailureCode } from '@picket/checks/contract/failure.ts';
import { type FailureWords, failureWords } from '@picket/checks/judging/failure-words.ts';
import { locationPart } from '@picket/checks/judging/location-part.ts';
import type { Evidence } from '../evidence.ts';
import { peerText } from './peer.ts';
import { type RunView, viewOf } from './run-view.ts';

/** Input of rules: the newest failure, and the passes before it. */
export interface AnalysisInput {
  readonly evidence: Evidence;
  readonly run: RunView;
  /** The last passing run, at the same location if possible. */
  readonly before: RunView | null;
  readonly passes: readonly RunView[];
  /** Verdict of the run as all views show it: the cause must not contradict it. */
  readonly verdict: FailureWords;
  /** Part of the location that could cause such a failure while the target is well. */
  readonly fromLocation: 'resolver' | 'network' | null;
  /** Owner of the run's code, or as reported by a newer agent. */
  readonly owner: string | null;
  /** Target of the check as texts name it. */
  readonly target: string;
  /** Locations where the check passes since it fails here. */
  readonly passesAt: readonly string[];
}

/** Returns undefined if no failing result is left. */
export function analysisInput(evidence: Evidence): AnalysisInput | undefined {
  const [newest] = evidence.failing;
  if (!newest) return undefined;
  const run = viewOf(newest);
  const passes = evidence.passed.map(viewOf);
  const { owner = null, code, errorMessages } = newest;
  const verdict = failureWords({ owner, code, message: newest.message ?? errorMessages[0] ?? null });
  const isOfWay = verdict.failing === 'path' || verdict.failing === 'location';
  return {
    evidence,
    run,
    passes,
    before: passes.find(({ result }) => result.location === newest.location) ?? passes[0] ?? null,
    verdict,
    fromLocation: isOfWay && isFailureCode(run.code) ? locationPart(run.code, run.message) : null,
    owner: code !== null && isFailureCode(code) ? failureCatalogue[code].owner : owner,
    target: targetOf(run, evidence),
    passesAt: evidence.elsewhere.filter(({ passes: isWell }) => isWell).map(({ location }) => location),
  };
}

/** `shop.test (10.0.0.1:443)`, `10.0.0.1:443`, or the name of the check. */
function targetOf({ host, address, peer }: RunView, { check }: Evidence): string {
  const place = peer ? peerText(peer) : address;
  if (host === null) return place ?? `the target of ${check.name}`;
  if (place === null) return host;
  return (peer?.name ?? place) === host ? place : `${host} (${place})`;
}

/** Name of the failed part alone: "the location", if the verdict says "the location, not the target". */
export function failedPart({ verdict }: Pick<AnalysisInput, 'verdict'>): string {
  return verdict.part;
}

/** Affected users, in one sentence. */
export function impactOf({ passesAt, run }: AnalysisInput, everywhere: string): string {
  if (passesAt.length === 0) return everywhere;
  return `The check passes at ${passesAt.join(', ')}: users outside ${run.result.location} may not be affected.`;
}
