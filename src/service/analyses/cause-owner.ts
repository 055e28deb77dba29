import type { Failing } from '@picket/checks/judging/failure-words.ts';
import { failingOfOlderAnalysis } from '@picket/checks/judging/older-agents.ts';
import type { classifications, RootCauseAnalysis } from '@picket/protocol/results/root-cause-analysis.ts';

type Analysis = RootCauseAnalysis['analysis'];
type Classification = (typeof classifications)[number];

/**
 * What a cause lies with, as its words say. `target-or-check`: the target does not do what the check asks of it, and
 * either may have to change. `open`: it names no cause.
 */
export type CauseOwner = Failing | 'target-or-check' | 'open';

/** What a conclusion, or a cause that a model may choose, says of itself. */
export interface Owned {
  readonly owner: CauseOwner;
  readonly classification: Classification;
}

/** What each kind of cause is called, by what it lies with; a pair without words is no cause that can be. */
const kinds: Readonly<Record<CauseOwner, Partial<Record<Classification, string>>>> = {
  target: {
    CONFIGURATION_ERROR: 'a setting of the target, its certificate or its name',
    INFRASTRUCTURE_ERROR: 'the host, gateway or network of the target',
    APPLICATION_ERROR: 'the program of the target',
    PERFORMANCE_ERROR: 'the speed of the target',
  },
  'target-or-check': {
    CONFIGURATION_ERROR: 'a setting of the target, or an expectation of the check',
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
 * What a cause may lie with where the verdict of a run says this failed: the same, or a part of it. The way to a target
 * begins at its location.
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

/** Whether a cause contradicts nothing of what a run says that failed: they are read on one page. */
export function agreesWith(failing: Failing, { owner, classification }: Owned): boolean {
  return agreeing[failing].includes(owner) && kinds[owner][classification] !== undefined;
}

/**
 * Whether an analysis of an error says what the cause of this run is: runs whose errors read alike can fail by different
 * things. Those of earlier versions name the failed part in words only, or not at all.
 */
export function isOfRun(
  { failing, whatFailed }: Pick<Analysis, 'failing' | 'whatFailed'>,
  failed: { readonly failing: Failing } | null,
): boolean {
  const part = failing ?? (whatFailed === null ? null : failingOfOlderAnalysis(whatFailed));
  return part === null || failed === null || part === failed.failing;
}

/** The classification in words that say whose: a configuration error may be the target's, the check's or the location's. */
export function kindWords({ owner, classification }: Owned): string | null {
  return kinds[owner][classification] ?? null;
}
