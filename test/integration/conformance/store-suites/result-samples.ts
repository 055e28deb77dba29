import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { CountedResultRow } from '../../../../src/service/results/tables.ts';

/** A random result. */
export interface Sample {
  readonly atMs: number;
  readonly location: string;
  readonly hasFailures: boolean;
  readonly hasErrors: boolean;
  readonly attempts: number;
  readonly statusCode: number | null;
  readonly responseTime: number | null;
  readonly dns: number | null;
}

/** Random results within a span of time. */
export const sample = (spanMs: number) =>
  fc.record<Sample>({
    atMs: fc.integer({ min: 0, max: spanMs - 1 }),
    location: fc.constantFrom('lab', 'office', 'eu-west-1'),
    hasFailures: fc.boolean(),
    hasErrors: fc.boolean(),
    attempts: fc.integer({ min: 0, max: 3 }),
    statusCode: fc.option(fc.constantFrom(200, 404, 503)),
    responseTime: fc.option(fc.double({ min: 0, max: 30_000, noNaN: true }), { freq: 8 }),
    dns: fc.option(fc.integer({ min: 0, max: 50 })),
  });

let inserted = 0;

/** A stored final result of a check. */
export function resultRow(
  checkId: string,
  accountId: string,
  created: number,
  one: Partial<Sample>,
): CountedResultRow {
  const { responseTime = 1, dns = null, statusCode = 200 } = one;
  const metrics = {
    ...(responseTime === null ? {} : { responseTime }),
    ...(dns === null ? {} : { dns }),
  };
  inserted += 1;
  return {
    id: randomUUID(),
    run_id: randomUUID(),
    account_id: accountId,
    check_id: checkId,
    check_type: 'URL',
    run_location: one.location ?? 'lab',
    result_type: 'FINAL',
    has_failures: one.hasFailures ? 1 : 0,
    has_errors: one.hasErrors ? 1 : 0,
    is_degraded: null,
    over_max: null,
    owner: null,
    code: null,
    message: null,
    failure_details: null,
    response_time: responseTime ?? 0,
    started: created,
    stopped: created,
    created,
    attempts: one.attempts ?? 0,
    sequence_id: randomUUID(),
    check_run_id: inserted,
    slot_at: created,
    start_delay: 0,
    agent_lag: 0,
    agent_overhead: 0,
    host_started: null,
    timing_doubtful: 0,
    certificate_expires: null,
    agent_id: 'agent-1',
    error_messages: '[]',
    error_group_ids: '[]',
    detail: null,
    measured: JSON.stringify([[statusCode, metrics]]),
  };
}

/** The detail of a URL monitor for a response with these phases. */
export function httpDetail(status: number, phases: object) {
  return {
    assertions: [],
    request: { method: 'GET', url: 'http://target.test/', data: '', headers: {}, params: {} },
    response: {
      status,
      statusText: '',
      body: '',
      headers: {},
      timings: null,
      timingPhases: { firstByte: 4, download: 5, total: 15, tls: 0, proxy: 0, ...phases },
      href: 'http://target.test/',
      truncated: false,
      httpVersion: '1.1',
      ipAddress: '127.0.0.1',
      redirectCount: 0,
    },
    requestError: null,
    jobLog: null,
    jobAssets: null,
    pcapDataUrl: null,
  };
}
