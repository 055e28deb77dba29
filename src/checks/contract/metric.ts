/** Where a value stands in the detail of a result: the keys on the way to it. */
export type DetailPath = readonly string[];

/** One thing about runs that can be followed over time (check model 3.6). */
export interface Metric {
  readonly name: string;
  readonly label: string;
  readonly unit: 'ms' | 'score' | 'count' | 'percentage';
  /**
   * Where the number stands, in the detail or in each item of it; absent: it is the response time of the
   * result.
   */
  readonly path?: DetailPath | undefined;
  /** The name overviews of many checks give it (check model 3.6); absent: they leave it out. */
  readonly overviewAs?: string | undefined;
  /** It belongs to each item of a result (a page), not to the result as a whole. */
  readonly isPerItem?: true | undefined;
}

/** What results of a check type can be split by, in addition to the location every result has. */
export interface Dimension {
  /** The `groupBy` of the API, and the key of the groups in answers. */
  readonly name: string;
  /** Where the value stands, in the detail or in each item of it. */
  readonly path: DetailPath;
  /**
   * Of items: they are split by their place in the result, and the value is shown with it under this name.
   */
  readonly shownAs?: string | undefined;
  /** Whether the value is a number in answers. */
  readonly isNumber: boolean;
}

/** What analytics follow of the results of a check type. */
export interface Analytics {
  /** Path segment of the route: `/v1/analytics/{route}/{id}`. */
  readonly route: string;
  readonly metrics: readonly Metric[];
  readonly dimension?: Dimension | undefined;
  /**
   * For types whose results are events, not runs: what `filterByStatus` takes in place of `success` and
   * `failure`, and where a result has it. Events come from nowhere in particular and by themselves: no
   * groups, no intervals (check model 3.6).
   */
  readonly states?: { readonly path: DetailPath; readonly names: readonly string[] } | undefined;
  /** Where the items of a result stand in its detail, for types whose results have parts of their own. */
  readonly items?: DetailPath | undefined;
}

/** The response time, as most types call it. */
export const responseTimeMetric: Metric = {
  name: 'responseTime',
  label: 'Response time',
  unit: 'ms',
  overviewAs: 'responseTime',
};

/** The response time of a type that runs a script. */
export const scriptTimeMetric: Metric = {
  ...responseTimeMetric,
  label: 'Response time for the full script',
};

/** A metric in milliseconds at a place of the detail. */
export function millisecondsAt(name: string, label: string, path: DetailPath): Metric {
  return { name, label, unit: 'ms', path };
}

const phase = (name: string, label: string) =>
  millisecondsAt(name, label, ['response', 'timingPhases', name]);

/** The metrics of types that send requests over HTTP; those of spec.md for URL monitors. */
export const httpMetrics: readonly Metric[] = [
  responseTimeMetric,
  phase('wait', 'Wait'),
  phase('dns', 'DNS lookup'),
  phase('tcp', 'TCP connect'),
  phase('firstByte', 'Time to first byte'),
  phase('download', 'Download'),
];

export const statusCodeDimension: Dimension = {
  name: 'statusCode',
  path: ['response', 'status'],
  isNumber: true,
};
