import type { Failing } from '@picket/checks/judging/failure-words.ts';
import { failingOfOlderAnalysis } from '@picket/checks/judging/older-agents.ts';
import type { classifications, RootCauseAnalysis } from '@picket/protocol/results/root-cause-analysis.ts';

type Analysis = RootCauseAnalysis['analysis'];
type Classification = (typeof classifications)[number];

/**
 * Where a cause lies. `target-or-check`: the target does not meet the check's expectation, and either may have to
 * change. `open`: no cause is named.
 */
export type CauseOwner = Failing | 'target-or-check' | 'open';

/** Owner and classification of a conclusion, or of a cause that a model may choose. */
export interface Owned {
  readonly owner: CauseOwner;
  readonly classification: Classification;
}

/** Names of the kinds of cause, by owner; a pair without a name is impossible. */
const kinds: Readonly<Record<CauseOwner, Partial<Record<Classification, string>>>> = {
  target: {
    CONFIGURATION_ERROR: 'a setting of the target, its certificate or its name',
    INFRASTRUCTURE_ERROR: 'the host, gateway or network of the target',
    APPLICATION_ERROR: 'the program of the target',
    PERFORMANCE_ERROR: 'the speed of the target',
  },
  'target-or-check': {
    CONFIGURATION_ERROR: 'a setting of the target, or an expectation of the check',
    APPLICATION_ERROR: 'the program of the target, or the request of the check',
  },
  path: { INFRASTRUCTURE_ERROR: 'the host of the target, or the network path to it' },
  location: {
    CONFIGURATION_ERROR: 'a setting of the location',
    INFRASTRUCTURE_ERROR: 'the network, resolver or proxy of the location',
  },
  agent: { MONITORING_ERROR: 'the agent: the target was not judged' },
  check: { CONFIGURATION_ERROR: 'the definition of the check' },
  script: { CONFIGURATION_ERROR: 'the script of the check' },
  'script-or-target': { CONFIGURATION_ERROR: 'the script of the check, or the response of the target' },
  open: { UNKNOWN: 'not known' },
};

/**
 * Possible owners of a cause given the failed part in the verdict of a run: the same, or a part of it. The network path
 * to a target begins at its location.
 */
const agreeing: Readonly<Record<Failing, readonly CauseOwner[]>> = {
  target: ['target', 'target-or-check', 'open'],
  path: ['path', 'target', 'target-or-check', 'location', 'open'],
  location: ['location', 'open'],
  agent: ['agent', 'open'],
  check: ['check', 'open'],
  script: ['script', 'open'],
  'script-or-target': ['script-or-target', 'script', 'target', 'target-or-check', 'open'],
};

/** Whether a cause is consistent with the part that failed according to the run: both appear on one page. */
export function agreesWith(failing: Failing, { owner, classification }: Owned): boolean {
  return agreeing[failing].includes(owner) && kinds[owner][classification] !== undefined;
}

/**
 * Whether the analysis of an error applies to this run: runs with similar errors can have different causes. Analyses of
 * earlier versions name the failed part only in words, or not at all.
 */
export function isOfRun(
  { failing, whatFailed }: Pick<Analysis, 'failing' | 'whatFailed'>,
  failed: { readonly failing: Failing } | null,
): boolean {
  const part = failing ?? (whatFailed === null ? null : failingOfOlderAnalysis(whatFailed));
  return part === null || failed === null || part === failed.failing;
}

/** Classification with its owner in words: a configuration error may concern the target, the check or the location. */
export function kindWords({ owner, classification }: Owned): string | null {
  return kinds[owner][classification] ?? null;
}
