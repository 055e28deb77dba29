import type { Metric } from '@picket/checks/contract/metric.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { isMeasured } from '@picket/protocol/checks/check-state.ts';
import {
  type Family,
  joined,
  type LabelSet,
  labelSet,
  type SampleSink,
  type Subject,
  type SubjectAt,
} from './exposition.ts';
import { countedOutcomes, type Distribution, phaseBoundsUs, responseBoundsUs } from './totals.ts';

/** Outcomes shown before they first occur: a counter that starts above 0 hides its first slots. */
const alwaysShown = new Set(['passed', 'degraded', 'failed', 'error', 'missed']);

const outcomeLabels = countedOutcomes.map((outcome) => [outcome, labelSet([['outcome', outcome]])] as const);

const runs: Family = {
  name: 'picket_check_runs',
  type: 'counter',
  help: 'Slots of a check by outcome',
  write: atEach((sink, { labels, totals }) => {
    for (const [outcome, labelOfOutcome] of outcomeLabels) {
      const count = totals.outcomes[outcome] ?? 0;
      if (count > 0 || alwaysShown.has(outcome)) {
        sink.add('picket_check_runs_total', count, labels, labelOfOutcome);
      }
    }
  }),
};

const response: Family = {
  name: 'picket_check_response_seconds',
  type: 'histogram',
  unit: 'seconds',
  help: 'Response times of runs whose target responded',
  write: atEach((sink, { labels, totals }) => {
    writeDistribution(sink, response.name, labels, totals.response, responseBounds);
  }),
};

const responseBounds = bucketLabels(responseBoundsUs);
const phaseBounds = bucketLabels(phaseBoundsUs);

/** Durations of phases: sums and counts, or optionally buckets, which are numerous. */
function phases(areBucketsShown: boolean): Family {
  const name = 'picket_check_phase_seconds';
  const bounds = areBucketsShown ? phaseBounds : undefined;
  return {
    name,
    type: areBucketsShown ? 'histogram' : 'summary',
    unit: 'seconds',
    help: 'Times of runs, by phase',
    write: atEach((sink, { labels, totals }) => {
      for (const [phase, distribution] of Object.entries(totals.phases)) {
        // Omits phases that a check does not have, such as a wait for a socket.
        if (distribution.sumUs === 0) continue;
        const labelOfPhase = labelOf('phase', phase);
        if (bounds) writeDistribution(sink, name, joined(labels, labelOfPhase), distribution, bounds);
        else writeSums(sink, name, distribution, labels, labelOfPhase);
      }
    }),
  };
}

const info: Family = {
  name: 'picket_check',
  type: 'info',
  help: 'Information about a check; its tags are labels',
  write: (sink, { labels, infoLabels }) => sink.add('picket_check_info', 1, labels, infoLabels),
};

const activated = ofCheck('picket_check_activated', 'Whether a check is switched on', ({ check }) =>
  Number(check.activated),
);

const up = ofState(
  'picket_check_up',
  'Whether a check passes, degraded or not; absent while it is not measured or not judged',
  ({ check: { state } }) => (isMeasured(state) ? Number(state !== 'failing') : undefined),
);

const state: Family = {
  name: 'picket_check_state',
  type: 'gauge',
  isOfState: true,
  help: 'State of a check: 1, with the state as label',
  write: (sink, { check, labels }) => sink.add(state.name, 1, labels, labelOf('state', check.state)),
};

const degraded = ofState(
  'picket_check_degraded',
  'Whether a check passes, but slowly; absent while it is not measured or not judged',
  ({ check: { state } }) => (isMeasured(state) ? Number(state === 'degraded') : undefined),
);

const error = ofState(
  'picket_check_error',
  'Whether the monitoring itself failed in the last run, so that the target was not judged; absent while the check does not run',
  ({ check: { state } }) =>
    isMeasured(state) || state === 'not-judged' ? Number(state === 'not-judged') : undefined,
);

const certificate = ofCheck(
  'picket_check_certificate_expiry_timestamp_seconds',
  'When the certificate of the target expires',
  ({ check: { certificate_expires: expires } }) => (expires === null ? undefined : expires / 1000),
);

const lastRun = ofPlace(
  'picket_check_last_run_timestamp_seconds',
  'End time of the last run with a result',
  ({ last }) => (last ? last.ended / 1000 : undefined),
);

const lastResponse = ofPlace(
  'picket_check_last_response_seconds',
  'Response time of the last run; absent if the target did not respond',
  ({ last }) => (last?.responseUs == null ? undefined : last.responseUs / 1e6),
);

/** Measurements of the last run other than its total duration: web vitals of its pages, losses, counts of errors. */
const measured: readonly Family[] = [
  lastMeasured('picket_check_page_seconds', 'Web vitals of the last run that are times, by page', {
    isOf: ({ isPerItem, unit }) => isPerItem === true && unit === 'ms',
    scale: 1e-3,
  }),
  lastMeasured('picket_check_page_score', 'Web vitals of the last run that are scores, by page', {
    isOf: ({ isPerItem, unit }) => isPerItem === true && unit === 'score',
    scale: 1,
  }),
  lastMeasured('picket_check_loss_ratio', 'Packet loss of the last run, from 0 to 1', {
    isOf: ({ isPerItem, unit }) => !isPerItem && unit === 'percentage',
    scale: 1e-2,
  }),
  lastMeasured('picket_check_page_errors', 'Errors in the last run, by kind', {
    isOf: isPageError,
    scale: 1,
  }),
  lastMeasured('picket_check_last_count', 'Counts of the last run: hops to the target, days left', {
    isOf: (metric) => metric.unit === 'count' && !isPageError(metric),
    scale: 1,
  }),
];

function isPageError({ unit, path }: Metric): boolean {
  return unit === 'count' && path?.[0] === 'traceSummary';
}

/** All metrics of checks under Picket's own names. */
export function ownFamilies({ areBucketsShown }: { readonly areBucketsShown: boolean }): readonly Family[] {
  return [
    info,
    activated,
    up,
    state,
    degraded,
    error,
    runs,
    response,
    phases(areBucketsShown),
    certificate,
    lastRun,
    lastResponse,
    ...measured,
  ];
}

interface Selection {
  readonly isOf: (metric: Metric) => boolean;
  readonly scale: number;
}

function lastMeasured(name: string, help: string, { isOf, scale }: Selection): Family {
  const byType = new Map<string, readonly Metric[]>();
  const metricsOf = (checkType: string) => {
    const known = byType.get(checkType);
    if (known) return known;
    const metrics = (findCheckType(checkType)?.analytics?.metrics ?? []).filter(isOf);
    byType.set(checkType, metrics);
    return metrics;
  };
  return {
    name,
    type: 'gauge',
    help,
    write: (sink, { check, places }) => {
      const metrics = metricsOf(check.check_type);
      if (metrics.length === 0) return;
      for (const { labels, last } of places) {
        for (const [index, [dimension, values]] of (last?.measured ?? []).entries()) {
          for (const { name: metric, isPerItem } of metrics) {
            const value = values[metric];
            if (value === undefined || (!isPerItem && index > 0)) continue;
            const page = [
              ['page', String(index)],
              ['url', String(dimension ?? '')],
            ] as const;
            const more = labelSet([['metric', metric], ...(isPerItem ? page : [])]);
            sink.add(name, rounded(value * scale), labels, more);
          }
        }
      }
    },
  };
}

/** Rounds to nine decimal places, to remove floating-point noise. */
function rounded(value: number): number {
  return Math.round(value * 1e9) / 1e9;
}

function ofState(...described: Parameters<typeof ofCheck>): Family {
  return { ...ofCheck(...described), isOfState: true };
}

function ofCheck(name: string, help: string, sampleOf: (subject: Subject) => number | undefined): Family {
  return {
    name,
    type: 'gauge',
    help,
    write: (sink, subject) => {
      const value = sampleOf(subject);
      if (value !== undefined) sink.add(name, value, subject.labels);
    },
  };
}

export function ofPlace(
  name: string,
  help: string,
  sampleOf: (place: SubjectAt, subject: Subject) => number | undefined,
): Family {
  return {
    name,
    type: 'gauge',
    help,
    write: (sink, subject) => {
      for (const place of subject.places) {
        const value = sampleOf(place, subject);
        if (value !== undefined) sink.add(name, value, place.labels);
      }
    },
  };
}

function atEach(write: (sink: SampleSink, place: SubjectAt) => void): Family['write'] {
  return (sink, { places }) => {
    for (const place of places) write(sink, place);
  };
}

const knownLabels = new Map<string, LabelSet>();

/** A label set with a single label, cached, as there are few distinct values. */
export function labelOf(name: string, value: string): LabelSet {
  const key = `${name} ${value}`;
  const known = knownLabels.get(key);
  if (known) return known;
  const made = labelSet([[name, value]]);
  knownLabels.set(key, made);
  return made;
}

/** Labels of buckets, with bounds in seconds as both formats write them. The last bucket is unbounded. */
function bucketLabels(boundsUs: readonly number[]): readonly LabelSet[] {
  const bounds = boundsUs.map((boundUs) => {
    const seconds = boundUs / 1e6;
    return Number.isInteger(seconds) ? `${seconds}.0` : String(seconds);
  });
  return [...bounds, '+Inf'].map((bound) => labelSet([['le', bound]]));
}

function writeDistribution(
  sink: SampleSink,
  name: string,
  labels: LabelSet,
  distribution: Distribution,
  bounds: readonly LabelSet[],
): void {
  let count = 0;
  for (const [index, bound] of bounds.entries()) {
    count += distribution.counts[index] ?? 0;
    sink.add(`${name}_bucket`, count, labels, bound);
  }
  writeSums(sink, name, distribution, labels);
}

function writeSums(
  sink: SampleSink,
  name: string,
  { sumUs, counts }: Distribution,
  labels: LabelSet,
  more?: LabelSet,
): void {
  let count = 0;
  for (const inBucket of counts) count += inBucket;
  sink.add(`${name}_sum`, sumUs / 1e6, labels, more);
  sink.add(`${name}_count`, count, labels, more);
}
