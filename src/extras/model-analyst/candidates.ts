import { agreesWith, type CauseOwner } from '@picket/service/analyses/cause-owner.ts';
import type { Classification } from '@picket/service/analyses/conclusion.ts';
import { relevantChanges } from '@picket/service/analyses/rules/change.ts';
import type { AnalysisInput } from '@picket/service/analyses/run-view/case.ts';

/** A possible cause of a failure. Its words are fixed: a model selects causes and never writes them. */
export interface Candidate {
  readonly key: string;
  /** The cause; readers see it after "Possible". */
  readonly words: string;
  readonly classification: Classification;
  /** The responsible party: see ../cause-owner.ts. */
  readonly owner: CauseOwner;
  /** How to verify it. */
  readonly next: string;
  /** Whether the known facts leave it possible. */
  readonly isOpen: (given: AnalysisInput) => boolean;
}

const isAnswered = ({ run }: AnalysisInput) => run.status !== null || run.body !== '';
const isScript = ({ run }: AnalysisInput) => run.script !== null && run.script.kind !== 'network';
const isSlow = ({ run }: AnalysisInput) =>
  /RESPONSE_TIME|TIMEOUT|TIMED_OUT|PACKET_LOSS|NO_REPLY/.test(run.code) ||
  run.script?.kind === 'navigation-timeout' ||
  run.script?.kind === 'locator' ||
  run.script?.kind === 'test-timeout' ||
  run.assertions.some(({ failed, source }) => failed && /_TIME$|^LATENCY$/.test(source));
const isJudged = (given: AnalysisInput) =>
  isScript(given) || /ASSERTION|UNEXPECTED|STEP_FAILED|PROMPT/.test(given.run.code);
const sendsCredentials = ({ run }: AnalysisInput) =>
  [...run.requestHeaders.keys()].some((name) => /^(authorization|cookie)$|key$|token$/.test(name));
const isReached = (given: AnalysisInput) => isAnswered(given) || isScript(given);

const catalogue: readonly Candidate[] = [
  {
    key: 'target_changed',
    words: 'The target was changed: a release, a setting, or its content.',
    owner: 'target',
    classification: 'APPLICATION_ERROR',
    next: 'Look at what was released or changed at the target since the last pass.',
    isOpen: (given) => isReached(given) && given.before !== null,
  },
  {
    key: 'dependency_fails',
    words: 'A dependency of the target does not work, such as a database, a queue or another service.',
    owner: 'target',
    classification: 'APPLICATION_ERROR',
    next: 'Look in the log of the target, at the time of the run, for a dependency that it could not reach.',
    isOpen: (given) =>
      (isReached(given) && (given.run.status ?? 500) >= 500) || isScript(given) || isSlow(given),
  },
  {
    key: 'overload',
    words: 'The target or its host is overloaded.',
    owner: 'target',
    classification: 'PERFORMANCE_ERROR',
    next: 'Look at the CPU, memory, disks and connections of the target at the time of the run.',
    isOpen: (given) => isSlow(given) || [429, 500, 502, 503, 504].includes(given.run.status ?? 0),
  },
  {
    key: 'limit_too_tight',
    words: 'The target is as slow as usual, and the limit of the check is too tight.',
    owner: 'target-or-check',
    classification: 'CONFIGURATION_ERROR',
    next: 'Compare the response times of the last days with the limit.',
    isOpen: isSlow,
  },
  {
    key: 'credentials',
    words:
      'The target does not accept the credentials of the check: they have expired, were changed, or lost permissions.',
    owner: 'target-or-check',
    classification: 'CONFIGURATION_ERROR',
    next: 'Try the credentials of the check by hand, and check when they expire.',
    isOpen: (given) =>
      isReached(given) && (sendsCredentials(given) || isScript(given)) && given.run.status !== 404,
  },
  {
    key: 'access_rule',
    words: 'An access rule of the target blocks the check: a firewall, a rate limit, or bot protection.',
    owner: 'target-or-check',
    classification: 'CONFIGURATION_ERROR',
    next: 'Look for the address of the agent in the logs of firewalls and proxies in front of the target.',
    isOpen: ({ run, ...given }) =>
      isReached({ run, ...given }) || /CONNECTION|HOST_UNREACHABLE|NO_REPLY/.test(run.code),
  },
  {
    key: 'gateway',
    words: 'A gateway, proxy or cache of the target responds instead of its program.',
    owner: 'target',
    classification: 'INFRASTRUCTURE_ERROR',
    next: 'Send the request directly to the target, without the gateway, and compare.',
    isOpen: isReached,
  },
  {
    key: 'network',
    words: 'The network between the location and the target loses or delays packets.',
    owner: 'path',
    classification: 'INFRASTRUCTURE_ERROR',
    next: 'Measure the route from the location to the target, and to another host in the same network.',
    isOpen: (given) => given.fromLocation !== null || isSlow(given),
  },
  {
    key: 'location',
    words: 'The location of the agent is the cause, not the target.',
    owner: 'location',
    classification: 'INFRASTRUCTURE_ERROR',
    next: 'Check whether other checks of the location fail, and run the check at another location.',
    isOpen: ({ evidence, passesAt, verdict }) =>
      verdict.failing === 'location' || evidence.locationEvents.length > 0 || passesAt.length > 0,
  },
  {
    key: 'check_changed',
    words:
      'The target has not met the expectations of the check since the check, or a resource it uses, was changed.',
    owner: 'target-or-check',
    classification: 'CONFIGURATION_ERROR',
    next: 'Look at the change in the history of the check, and revert it as a test.',
    isOpen: (given) => relevantChanges(given).length > 0,
  },
  {
    key: 'wrong_expectation',
    words: 'The target works as intended, and the expectation of the check is wrong or outdated.',
    owner: 'target-or-check',
    classification: 'CONFIGURATION_ERROR',
    next: 'Read the expectations of the check, and ask the owner of the target whether they are right.',
    isOpen: isJudged,
  },
  {
    key: 'test_data',
    words:
      'The target lacks data that the check relies on: a user, an order or a record is missing, used up or changed.',
    owner: 'target-or-check',
    classification: 'CONFIGURATION_ERROR',
    next: 'Look at the data that the check uses at the target.',
    isOpen: (given) => isJudged(given) && isReached(given),
  },
  {
    key: 'page_broken',
    words: 'The page is broken: one of its files, scripts or requests fails.',
    owner: 'target',
    classification: 'APPLICATION_ERROR',
    next: 'Open the page with the developer tools of a browser, and look at its requests and its console.',
    isOpen: isScript,
  },
  {
    key: 'maintenance',
    words: 'The target, or its environment, was under maintenance.',
    owner: 'target',
    classification: 'INFRASTRUCTURE_ERROR',
    next: 'Ask the owner of the target about maintenance at that time.',
    isOpen: () => true,
  },
];

/**
 * Causes that the evidence leaves open, in no order, with the owner that the run indicates: a model cannot select
 * another owner.
 */
export function openCandidates(given: AnalysisInput): Candidate[] {
  return catalogue.filter(
    (candidate) => agreesWith(given.verdict.failing, candidate) && candidate.isOpen(given),
  );
}
