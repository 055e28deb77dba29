import type { FailureWords } from '@picket/checks/judging/failure-words.ts';
import type { RootCauseAnalysis } from '@picket/protocol/results/root-cause-analysis.ts';
import { type CauseOwner, kindWords } from './cause-owner.ts';

export type Analysis = RootCauseAnalysis['analysis'];
export type Classification = Analysis['classification'];
export type Certainty = Analysis['certainty'];
export type Artifact = Analysis['evidence'][number]['artifacts'][number];
export type EvidenceItem = Analysis['evidence'][number];

/** A rule's conclusion from evidence. */
export interface Conclusion {
  /**
   * `CERTAIN`: the evidence shows it and nothing else fits. `LIKELY`: other causes would fit, but less well. `OPEN`:
   * facts without a cause.
   */
  readonly certainty: Certainty;
  readonly classification: Classification;
  /** Where the cause lies; the texts name nothing else. */
  readonly owner: CauseOwner;
  /** The cause, in full sentences. */
  readonly cause: string;
  readonly impact: string;
  /** Suggested next step. */
  readonly next: string;
  readonly evidence: readonly EvidenceItem[];
  readonly links?: readonly { readonly url: string; readonly title: string }[];
}

/** A rule: returns a conclusion, or undefined if it does not apply. Accepts evidence of any kind, complete or not. */
export type Rule<Given> = (given: Given) => Conclusion | undefined;

const beginnings: Readonly<Record<Certainty, string>> = {
  CERTAIN: 'Certain',
  LIKELY: 'Likely',
  OPEN: 'Open',
};

/**
 * A conclusion in the form of the API. Its text begins with the certainty.
 *
 * @param failed the failed part according to the run; null if no run is left.
 */
export function analysisOf(
  conclusion: Conclusion,
  asides: readonly EvidenceItem[],
  failed: Pick<FailureWords, 'whatFailed' | 'failing'> | null,
): Analysis {
  const { certainty, classification, cause, impact, next, evidence, links } = conclusion;
  return {
    classification,
    kind: kindWords(conclusion),
    whatFailed: failed?.whatFailed ?? null,
    failing: failed?.failing ?? null,
    certainty,
    rootCause: `${beginnings[certainty]}: ${cause}`,
    userImpact: impact,
    codeFix: next,
    evidence: [...evidence, ...asides],
    referenceLinks: links && links.length > 0 ? [...links] : null,
  };
}

const named = {
  request: { name: 'HTTP_REQUEST', type: 'REQUEST' },
  response: { name: 'HTTP_RESPONSE', type: 'RESPONSE' },
  phases: { name: 'TIMING_PHASES', type: 'TIMINGS' },
  certificate: { name: 'CERTIFICATE', type: 'CERTIFICATE' },
  assertions: { name: 'ASSERTIONS', type: 'ASSERTIONS' },
  answer: { name: 'DNS_ANSWER', type: 'RESPONSE' },
  pings: { name: 'PING_RESULTS', type: 'RESPONSE' },
  error: { name: 'ERROR', type: 'LOG' },
  steps: { name: 'STEPS', type: 'LOG' },
  lastPass: { name: 'LAST_PASS', type: 'RESULT' },
  checks: { name: 'OTHER_CHECKS', type: 'CHECKS' },
  locations: { name: 'OTHER_LOCATIONS', type: 'RESULT' },
  locationEvent: { name: 'LOCATION_EVENT', type: 'LOCATION' },
  change: { name: 'CHANGE', type: 'AUDIT_LOG' },
  maintenance: { name: 'MAINTENANCE_WINDOW', type: 'MAINTENANCE' },
} as const satisfies Record<string, Artifact>;

/** A piece of evidence: its description, and the artifacts that show it. */
export function shown(
  description: string,
  ...where: readonly (keyof typeof named | Artifact)[]
): EvidenceItem {
  return {
    artifacts: where.map((one) => (typeof one === 'string' ? { ...named[one] } : one)),
    description,
  };
}
