/** Where the API shows details, in check results: each type names its key. */
export type DetailKey = `${string}CheckResult`;

/**
 * What people read of a detail, in the order in which they look for it. Pages, terminals and comparisons of runs show
 * this, and know nothing else about a type.
 */
export interface DetailSummary {
  /** Parts of the response time, one after the other. */
  readonly phases?: readonly SummaryPhase[];
  readonly assertions?: readonly SummaryAssertion[];
  /** A row for each address, where a run went to several; stands above everything else. */
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

/** What was expected and what was found. */
export interface SummaryAssertion {
  readonly isMet: boolean;
  readonly subject: string;
  /** A header, a path: what of the subject. */
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
  /** Of scripts around a request. */
  readonly stage?: string;
}

/** Contents under a title, in the order of these fields; a section without any is left out. */
export interface SummarySection {
  readonly title: string;
  /** Its anchor on a page. */
  readonly id?: string;
  readonly note?: string | null;
  /** The most important thing in one line: `GET https://shop.example.com/`. */
  readonly line?: { readonly text: string; readonly url?: string };
  /** Those without a value are left out. */
  readonly facts?: readonly SummaryFact[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly texts?: readonly SummaryText[];
  readonly table?: SummaryTable;
  /** Steps by the time at which they began. */
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
  /** What is wrong with it. */
  readonly problem?: string | null;
  /** Differs from run to run by its nature. */
  readonly isVolatile?: boolean;
}

/** A text of several lines: a body, an error. */
export interface SummaryText {
  readonly label: string;
  readonly text: string;
  readonly note?: string | null;
  /** By what two runs are compared, line by line; absent: they are not compared by this text. */
  readonly compared?: string;
}

export interface SummaryTable {
  readonly caption: string;
  readonly columns: readonly SummaryColumn[];
  readonly rows: readonly (readonly SummaryValue[])[];
  /** Stands in the place of rows; without it a table without rows is left out. */
  readonly empty?: string;
}

export interface SummaryColumn {
  readonly title: string;
  readonly isNumber?: boolean;
  /** Left out where there is little room. */
  readonly isMinor?: boolean;
  /** `key`: names the row; `compared`: runs are compared by its value. */
  readonly role?: 'key' | 'compared';
}

export interface SummaryStep {
  readonly name: string;
  readonly startMs: number;
  readonly lengthMs: number;
  /** A part of the step before. */
  readonly isNested: boolean;
  readonly isFailed: boolean;
}

/** One thing that either side said. */
export interface SummaryMessage {
  readonly isSent: boolean;
  /** Milliseconds since the conversation began. */
  readonly atMs: number;
  readonly text: string;
  /** Its step, its size. */
  readonly note: string;
  readonly problem?: string | null;
}

/** A router on the path to a target, or the target. */
export interface SummaryHop {
  readonly number: number;
  /** The one that answered most often comes first; empty: no reply. */
  readonly addresses: readonly string[];
  readonly host: string | null;
  readonly sent: number;
  readonly received: number;
  readonly latency: { readonly avg: number; readonly best: number; readonly worst: number } | null;
  readonly error: string | null;
  readonly mark: 'target' | 'behind the target' | null;
}
