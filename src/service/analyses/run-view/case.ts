import { failureCatalogue, isFailureCode } from '@picket/checks/contract/failure.ts';
import { type FailureWords, failureWords } from '@picket/checks/judging/failure-words.ts';
import { locationPart } from '@picket/checks/judging/location-part.ts';
import type { Evidence } from '../evidence.ts';
import { peerText } from './peer.ts';
import { type RunView, viewOf } from './run-view.ts';

/** What rules look at: the newest failure, and what passed before it. */
export interface AnalysisInput {
  readonly evidence: Evidence;
  readonly run: RunView;
  /** The last run that passed; at the same location where there is one. */
  readonly before: RunView | null;
  readonly passes: readonly RunView[];
  /** What every surface says of the run: what the cause must not contradict. */
  readonly verdict: FailureWords;
  /** Which part of the location could bring such a failure about where the target is well. */
  readonly fromLocation: 'resolver' | 'network' | null;
  /** Of the run's own code, or as a newer agent has it. */
  readonly owner: string | null;
  /** What the check asks, as words call it. */
  readonly target: string;
  /** Locations where the check passes since it fails here. */
  readonly passesAt: readonly string[];
}

/** Undefined where no failing result is left to look at. */
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

/** What failed, by its name alone: "the location", where the verdict says "the location, not the target". */
export function failedPart({ verdict }: Pick<AnalysisInput, 'verdict'>): string {
  return verdict.part;
}

/** Whom it concerns, in one sentence. */
export function impactOf({ passesAt, run }: AnalysisInput, everywhere: string): string {
  if (passesAt.length === 0) return everywhere;
  return `The check passes at ${passesAt.join(', ')}: users outside ${run.result.location} may not be affected.`;
}
