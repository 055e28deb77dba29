/** Key of the details in the check results of the API: each type names its own. */
export type DetailKey = `${string}CheckResult`;

/**
 * Summary of a detail for people, in reading order. Pages, terminals and comparisons of runs show this, and know
 * nothing else about a type.
 */
export interface DetailSummary {
  /** Consecutive parts of the response time. */
  readonly phases?: readonly SummaryPhase[];
  readonly assertions?: readonly SummaryAssertion[];
  /** A row for each address, if a run contacted several; shown above everything else. */
  readonly addresses?: SummarySection | undefined;
  readonly sections: readonly SummarySection[];
  readonly log?: readonly SummaryLogLine[];
}

/** A colour of the waterfall. */
export type PhaseKind = 'wait' | 'dns' | 'proxy' | 'tcp' | 'tls' | 'first-byte' | 'download' | 'other';

export interface SummaryPhase {
  readonly name: string;
  readonly kind: PhaseKind;
  readonly lengthMs: number;
}

/** Expected and found value. */
export interface SummaryAssertion {
  readonly isMet: boolean;
  readonly subject: string;
  /** Property of the source: a header, a path. */
  readonly property?: string;
  readonly comparison?: string;
  readonly expected: string;
  readonly found: string;
  readonly error: string | null;
}

export interface SummaryLogLine {
  /** Epoch milliseconds. */
  readonly time: number;
  readonly level: 'DEBUG' | 'INFO' | 'WARN' | 'ERROR';
  readonly msg: string;
  /** For scripts around a request. */
  readonly stage?: string;
}

/** Contents under a title, in the order of these fields; a section without any is omitted. */
export interface SummarySection {
  readonly title: string;
  /** Its anchor on a page. */
  readonly id?: string;
  readonly note?: string | null;
  /** The most important information in one line: `GET https://shop.example.com/`. */
  readonly line?: { readonly text: string; readonly url?: string };
  /** Facts without a value are omitted. */
  readonly facts?: readonly SummaryFact[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly texts?: readonly SummaryText[];
  readonly table?: SummaryTable;
  /** Steps by their start times. */
  readonly timeline?: readonly SummaryStep[];
  readonly conversation?: readonly SummaryMessage[];
  readonly path?: readonly SummaryHop[];
}

export type SummaryValue =
  | string
  | number
  | null
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'duration'; readonly ms: number; readonly note?: string }
  | { readonly kind: 'instant'; readonly at: string }
  | {
      readonly kind: 'state';
      readonly state: 'passed' | 'degraded' | 'failed' | 'off';
      readonly text: string;
    };

export interface SummaryFact {
  readonly name: string;
  readonly value: SummaryValue;
  /** Problem with the value. */
  readonly problem?: string | null;
  /** Whether the value differs between runs by nature. */
  readonly isVolatile?: boolean;
}

/** A text of several lines: a body, an error. */
export interface SummaryText {
  readonly label: string;
  readonly text: string;
  readonly note?: string | null;
  /** Text for a line-by-line comparison of two runs; absent: not compared. */
  readonly compared?: string;
}

export interface SummaryTable {
  readonly caption: string;
  readonly columns: readonly SummaryColumn[];
  readonly rows: readonly (readonly SummaryValue[])[];
  /** Shown in place of rows; without it a table without rows is omitted. */
  readonly empty?: string;
}

export interface SummaryColumn {
  readonly title: string;
  readonly isNumber?: boolean;
  /** Whether narrow displays omit it. */
  readonly isMinor?: boolean;
  /** `key`: identifies the row; `compared`: comparisons of runs use its value. */
  readonly role?: 'key' | 'compared';
}

export interface SummaryStep {
  readonly name: string;
  readonly startMs: number;
  readonly lengthMs: number;
  /** Whether it is a part of the preceding step. */
  readonly isNested: boolean;
  readonly isFailed: boolean;
}

/** One message from either side. */
export interface SummaryMessage {
  readonly isSent: boolean;
  /** Milliseconds since the start of the exchange. */
  readonly atMs: number;
  readonly text: string;
  /** Its step, its size. */
  readonly note: string;
  readonly problem?: string | null;
}

/** A router on the path to a target, or the target. */
export interface SummaryHop {
  readonly number: number;
  /** In descending order of replies; empty: no reply. */
  readonly addresses: readonly string[];
  readonly host: string | null;
  readonly sent: number;
  readonly received: number;
  readonly latency: { readonly avg: number; readonly best: number; readonly worst: number } | null;
  readonly error: string | null;
  readonly mark: 'target' | 'behind the target' | null;
}
