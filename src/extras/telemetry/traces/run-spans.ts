import { randomBytes } from 'node:crypto';
import type { RunFacts } from '@picket/checks/contract/facts.ts';
import { factsOf } from '@picket/platform/store/details/run-facts.ts';
import type { StoredResult } from '@picket/service/results/ingest.ts';
import type { CountedResultRow } from '@picket/service/results/tables.ts';

/** An attribute value in OTLP JSON. */
type AnyValue = { readonly stringValue: string } | { readonly intValue: string };

export interface OtlpAttribute {
  readonly key: string;
  readonly value: AnyValue;
}

/** A span in OTLP JSON: ids are hex, times are nanoseconds as text. */
export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: 1 | 3;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly status: { readonly code: 1 | 2; readonly message?: string };
}

/** A log record of a failure, in the trace of its run. */
export interface OtlpLog {
  readonly timeUnixNano: string;
  readonly severityNumber: 13 | 17;
  readonly severityText: 'WARN' | 'ERROR';
  readonly body: { readonly stringValue: string };
  readonly attributes: readonly OtlpAttribute[];
  readonly traceId: string;
  readonly spanId: string;
}

/** Phases in chronological order; a detail contains those that its type measures. */
const phaseNames = [
  'wait',
  'dns',
  'tcp',
  'connection',
  'proxy',
  'startTls',
  'tls',
  'auth',
  'firstByte',
  'data',
  'download',
] as const;
const longestText = 2_000;

/**
 * The trace of a run: the run, within it its request, whose id the target received as `traceparent`, and within that
 * the phases in sequence. If the run sent no trace to its target, a new one begins here.
 */
export function spansOf(
  { run, row, detail }: StoredResult,
  checkName: string,
): { spans: OtlpSpan[]; log?: OtlpLog } {
  const facts = factsOf(row.check_type, detail);
  const [, traceId = hex(16), requestId = hex(8)] =
    /^00-([0-9a-f]{32})-([0-9a-f]{16})-/.exec(facts.traceparent ?? '') ?? [];
  const runId = hex(8);
  const status =
    row.message === null ? ({ code: 1 } as const) : ({ code: 2, message: cut(row.message) } as const);
  const ofRun = [
    text('picket.check.id', row.check_id),
    text('picket.check.name', checkName),
    text('picket.check.type', row.check_type),
    text('picket.location', row.run_location),
    text('picket.agent.id', row.agent_id),
    text('picket.run.id', run.id),
    text('picket.result.id', row.id),
    text('picket.outcome', outcomeOf(row)),
    ...(row.code === null ? [] : [text('error.type', row.code)]),
    number('picket.attempt', run.attempt),
  ];
  const spans: OtlpSpan[] = [
    {
      ...{ traceId, spanId: runId, name: `check ${checkName}`.slice(0, 200), kind: 1 as const, status },
      ...bounds(row.started, Math.max(row.started, row.stopped)),
      attributes: ofRun,
    },
  ];
  const phases = phasesOf(facts);
  if (phases.length > 0) {
    const lengthMs = phases.reduce((sum, [, ms]) => sum + ms, 0);
    const common = { traceId, kind: 3 as const, status };
    spans.push({
      ...{ ...common, spanId: requestId, parentSpanId: runId, name: facts.method ?? row.check_type },
      ...bounds(row.started, row.started + lengthMs),
      attributes: requestAttributes(facts),
    });
    let startMs = row.started;
    for (const [name, ms] of phases) {
      spans.push({
        ...{
          traceId,
          spanId: hex(8),
          parentSpanId: requestId,
          name,
          kind: 1 as const,
          status: { code: 1 as const },
        },
        ...bounds(startMs, startMs + ms),
        attributes: [],
      });
      startMs += ms;
    }
  }
  if (row.message === null) return { spans };
  const isOurs = row.has_errors === 1;
  return {
    spans,
    log: {
      ...{ timeUnixNano: nanoseconds(row.stopped), traceId, spanId: runId, attributes: ofRun },
      ...(isOurs
        ? { severityNumber: 13 as const, severityText: 'WARN' as const }
        : { severityNumber: 17 as const, severityText: 'ERROR' as const }),
      body: { stringValue: cut(row.message) },
    },
  };
}

/** Phases with a duration, in order. The stored first byte includes those of the proxy, of TLS and of the login. */
function phasesOf({ phases }: RunFacts): (readonly [name: string, ms: number])[] {
  const at = (name: string) => Math.max(0, phases.get(name) ?? 0);
  const partsMs = at('tls') + at('proxy') + at('auth');
  return phaseNames
    .map((name) => [name, name === 'firstByte' ? at(name) - partsMs : at(name)] as const)
    .filter(([, ms]) => ms > 0);
}

function requestAttributes({ method, url, host, address, status }: RunFacts): OtlpAttribute[] {
  return [
    ...(method ? [text('http.request.method', method)] : []),
    ...(url ? [text('url.full', url)] : []),
    ...(host ? [text('server.address', host)] : []),
    ...(address ? [text('network.peer.address', address)] : []),
    ...(status !== null && status > 0 ? [number('http.response.status_code', status)] : []),
  ];
}

function outcomeOf(row: CountedResultRow): string {
  if (row.has_errors === 1) return 'error';
  if (row.has_failures === 1) return 'failed';
  return row.is_degraded === 1 ? 'degraded' : 'passed';
}

function bounds(startMs: number, endMs: number) {
  return { startTimeUnixNano: nanoseconds(startMs), endTimeUnixNano: nanoseconds(endMs) };
}

/** Converts epoch milliseconds, to the microsecond, to nanoseconds: too large for a number. */
function nanoseconds(ms: number): string {
  return `${BigInt(Math.round(ms * 1000)) * 1000n}`;
}

function hex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}

function text(key: string, value: string): OtlpAttribute {
  return { key, value: { stringValue: cut(value) } };
}

function number(key: string, value: number): OtlpAttribute {
  return { key, value: { intValue: String(Math.round(value)) } };
}

function cut(value: string): string {
  return value.slice(0, longestText);
}
