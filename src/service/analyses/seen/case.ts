import { failureCatalogue, isFailureCode } from '../../../checks/contract/failure.ts';
import { locationPart } from '../../../checks/judging/network-text.ts';
import type { Evidence } from '../evidence.ts';
import { type RunView, viewOf } from './run-view.ts';

/** What rules look at: the newest failure, and what passed before it. */
export interface Case {
  readonly evidence: Evidence;
  readonly run: RunView;
  /** The last run that passed; at the same location where there is one. */
  readonly before: RunView | null;
  readonly passes: readonly RunView[];
  /** Which part of the location could bring such a failure about where the target is well. */
  readonly fromLocation: 'resolver' | 'network' | null;
  readonly owner: string | null;
  /** What the check asks, as words call it. */
  readonly target: string;
  /** Locations where the check passes since it fails here. */
  readonly passesAt: readonly string[];
}

/** Undefined where no failing result is left to look at. */
export function caseOf(evidence: Evidence): Case | undefined {
  const [newest] = evidence.failing;
  if (!newest) return undefined;
  const run = viewOf(newest);
  const passes = evidence.passed.map(viewOf);
  const code = isFailureCode(run.code) ? run.code : null;
  return {
    evidence,
    run,
    passes,
    before: passes.find(({ facts }) => facts.location === newest.location) ?? passes[0] ?? null,
    fromLocation: code === null ? null : locationPart(code, run.message),
    owner: code === null ? null : failureCatalogue[code].owner,
    target: targetOf(run, evidence),
    passesAt: evidence.elsewhere.filter(({ passes: isWell }) => isWell).map(({ location }) => location),
  };
}

/** `shop.test (10.0.0.1:443)`, `10.0.0.1:443`, or the name of the check. */
function targetOf({ host, address, peer }: RunView, { check }: Evidence): string {
  const place = peer ?? address;
  if (host === null) return place ?? `the target of ${check.name}`;
  return place === null || place.startsWith(`${host}:`) || place === host
    ? (place ?? host)
    : `${host} (${place})`;
}

/** Whom it concerns, in one sentence. */
export function impactOf({ passesAt, run }: Case, everywhere: string): string {
  if (passesAt.length === 0) return everywhere;
  return `The check passes at ${passesAt.join(', ')}: who comes from elsewhere than ${run.facts.location} may notice nothing.`;
}
