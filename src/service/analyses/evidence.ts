import type { FailureDetails } from '@picket/checks/contract/failure-details.ts';

/**
 * What is known of an error: all that rules read, and all that their words may hold. It comes from results as they
 * are stored, which their agents have freed of secrets. Times are texts (ISO 8601), so that words can quote them.
 */
export interface Evidence {
  readonly check: {
    readonly name: string;
    readonly type: string;
    readonly createdAt: string | null;
  };
  /** The error that is looked into, as it was the first time. */
  readonly errorMessage: string;
  /** Results with the error, newest first; none where they were removed. */
  readonly failing: readonly StoredRun[];
  /** Results from before the first of the failures in a row that passed, newest first. */
  readonly passed: readonly StoredRun[];
  /** When the first result after the last pass was started. */
  readonly failingSince: string | null;
  /** What the newest run since then found at each other location of the check. */
  readonly elsewhere: readonly { readonly location: string; readonly passes: boolean }[];
  /** Other checks of the account that share something with the failing one; null where it is too late to tell. */
  readonly company: readonly Company[] | null;
  /** What agents reported of the location around the newest failure. */
  readonly locationEvents: readonly LocationEventFacts[];
  /** What was changed between the last pass and the first failure, newest first. */
  readonly changes: readonly ChangeFacts[];
  /** Maintenance windows in effect at the newest failure. */
  readonly maintenance: readonly string[];
}

/** A stored result. */
export interface StoredRun {
  readonly id: string;
  /** The type of its check. */
  readonly type: string;
  readonly startedAt: string;
  readonly location: string;
  /** Whose its failure is, as the agent has it. */
  readonly owner?: string | null;
  readonly code: string | null;
  readonly message: string | null;
  /** The facts of its failure. */
  readonly details: FailureDetails;
  readonly errorMessages: readonly string[];
  /** Milliseconds. */
  readonly responseTime: number;
  /** As its check type has it, or as an older or newer agent wrote it. */
  readonly detail: unknown;
}

/** Checks that share a value with the failing one, apart from itself. */
export interface Company {
  readonly kind: 'host' | 'address' | 'location';
  readonly value: string;
  readonly checks: number;
  readonly failing: number;
  /** Different hosts that the failing ones ask. */
  readonly failingHosts: number;
  /** The first failing ones. */
  readonly names: readonly string[];
}

export interface LocationEventFacts {
  readonly kind: string;
  readonly evidence: string;
  readonly startedAt: string;
  readonly endedAt: string | null;
}

/** A write to the check, or to what it is made of. */
export interface ChangeFacts {
  /** `checks/<id>`, `variables/<key>`. */
  readonly resource: string;
  readonly at: string;
  /** The fields that changed. */
  readonly fields: readonly string[];
}
