/** Path to a value in the detail of a result, as keys. */
export type DetailPath = readonly string[];

/** One property of runs that can be tracked over time (check model 3.6). */
export interface Metric {
  readonly name: string;
  readonly label: string;
  readonly unit: 'ms' | 'score' | 'count' | 'percentage';
  /** Path of the number, in the detail or in each item; absent: the response time of the result. */
  readonly path?: DetailPath | undefined;
  /** Its name in overviews of many checks (check model 3.6); absent: they omit it. */
  readonly overviewAs?: string | undefined;
  /** Whether it belongs to each item of a result (a page), not to the result as a whole. */
  readonly isPerItem?: true | undefined;
}

/** A field by which results of a check type can be grouped, in addition to the location, which every result has. */
export interface Dimension {
  /** The `groupBy` of the API, and the key of the groups in API responses. */
  readonly name: string;
  /** Path of the value, in the detail or in each item. */
  readonly path: DetailPath;
  /** For items: they are grouped by their index in the result, and responses show the value under this name. */
  readonly shownAs?: string | undefined;
  /** Whether API responses show the value as a number. */
  readonly isNumber: boolean;
}

/** Analytics of the results of a check type. */
export interface Analytics {
  /** Path segment of the route: `/v1/analytics/{route}/{id}`. */
  readonly route: string;
  readonly metrics: readonly Metric[];
  readonly dimension?: Dimension | undefined;
  /**
   * For types whose results are events, not runs: values that `filterByStatus` accepts in place of `success` and
   * `failure`, and the path of the state in a result. Events have no location and no schedule, so no groups and no
   * intervals (check model 3.6).
   */
  readonly states?: { readonly path: DetailPath; readonly names: readonly string[] } | undefined;
  /** Path of a result's items in its detail, for types whose results have parts. */
  readonly items?: DetailPath | undefined;
}

/** The response time, by its usual name. */
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

/** A metric in milliseconds at a path of the detail. */
export function millisecondsAt(name: string, label: string, path: DetailPath): Metric {
  return { name, label, unit: 'ms', path };
}

const phase = (name: string, label: string) =>
  millisecondsAt(name, label, ['response', 'timingPhases', name]);

/** The metrics of types that send HTTP requests; those of spec.md for URL monitors. */
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
