/** Where the API shows details, in check results. */
export type DetailKey =
  | 'apiCheckResult'
  | 'browserCheckResult'
  | 'multiStepCheckResult'
  | 'playwrightCheckResult'
  | 'agenticCheckResult'
  | 'sslCheckResult'
  | 'grpcCheckResult'
  | 'tracerouteCheckResult'
  | 'udpCheckResult'
  | 'webSocketCheckResult';

/** What people read of a detail, in the order they ask for it: pages show it, and runs are compared by it. */
export interface DetailSummary {
  /** Of the operation, one after the other. */
  readonly phases: readonly SummaryPhase[];
  readonly sections: readonly SummarySection[];
  /** What was said, in its order; absent where a type has no conversation. */
  readonly conversation?: readonly SummaryMessage[];
}

/** One thing that either side said. */
export interface SummaryMessage {
  readonly isSent: boolean;
  /** Milliseconds since the conversation began. */
  readonly atMs: number;
  readonly text: string;
  /** Of what it is, and which step it belongs to. */
  readonly note: string;
  readonly problem?: string | null;
}

export interface SummaryPhase {
  readonly name: string;
  /** What colour it has. */
  readonly kind: 'wait' | 'dns' | 'proxy' | 'tcp' | 'tls' | 'first-byte' | 'download' | 'other';
  readonly lengthMs: number;
}

/** Facts under a title; those without a value are left out. */
export interface SummarySection {
  readonly title: string;
  readonly facts: readonly SummaryFact[];
}

export interface SummaryFact {
  readonly name: string;
  readonly value: string | number | null;
  /** What is wrong with it. */
  readonly problem?: string | null;
}
