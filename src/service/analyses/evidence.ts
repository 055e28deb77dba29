import type { FailureDetails } from '@picket/checks/contract/failure-details.ts';

/**
 * Everything known about an error: all inputs of the rules, and all that their texts may contain. It comes from stored
 * results, from which agents have removed secrets. Times are strings (ISO 8601), so that texts can quote them.
 */
export interface Evidence {
  readonly check: {
    readonly name: string;
    readonly type: string;
    readonly createdAt: string | null;
  };
  /** Message of the error under analysis, as it first occurred. */
  readonly errorMessage: string;
  /** Results with the error, newest first; empty if they were deleted. */
  readonly failing: readonly StoredRun[];
  /** Passing results before the current series of failures, newest first. */
  readonly passed: readonly StoredRun[];
  /** Start of the first result after the last pass. */
  readonly failingSince: string | null;
  /** Newest result since then at each other location of the check. */
  readonly elsewhere: readonly { readonly location: string; readonly passes: boolean }[];
  /** Other checks of the account that share something with the failing one; null if it is too late to tell. */
  readonly company: readonly Company[] | null;
  /** Events that agents reported for the location around the newest failure. */
  readonly locationEvents: readonly LocationEventFacts[];
  /** Changes between the last pass and the first failure, newest first. */
  readonly changes: readonly ChangeFacts[];
  /** Maintenance windows in effect at the newest failure. */
  readonly maintenance: readonly string[];
}

/** A stored result. */
export interface StoredRun {
  readonly id: string;
  /** Type of its check. */
  readonly type: string;
  readonly startedAt: string;
  readonly location: string;
  /** Party at fault for its failure, according to the agent. */
  readonly owner?: string | null;
  readonly code: string | null;
  readonly message: string | null;
  /** Details of its failure. */
  readonly details: FailureDetails;
  readonly errorMessages: readonly string[];
  /** Milliseconds. */
  readonly responseTime: number;
  /** In the format of its check type, possibly of an older or newer agent. */
  readonly detail: unknown;
}

/** Other checks that share a value with the failing one. */
export interface Company {
  readonly kind: 'host' | 'address' | 'location';
  readonly value: string;
  readonly checks: number;
  readonly failing: number;
  /** Number of distinct target hosts of the failing ones. */
  readonly failingHosts: number;
  /** Names of the first failing ones. */
  readonly names: readonly string[];
}

export interface LocationEventFacts {
  readonly kind: string;
  readonly evidence: string;
  readonly startedAt: string;
  readonly endedAt: string | null;
}

/** A change of the check, or of a resource that it uses. */
export interface ChangeFacts {
  /** `checks/<id>`, `variables/<key>`. */
  readonly resource: string;
  readonly at: string;
  /** Fields that changed. */
  readonly fields: readonly string[];
}
