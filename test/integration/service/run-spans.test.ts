import { describe, expect, it } from 'vitest';
import { spansOf } from '../../../src/extras/telemetry/traces/run-spans.ts';
import type { StoredResult } from '../../../src/service/results/ingest.ts';
import { wholeDetail } from '../../helpers/whole-detail.ts';

const row = {
  ...{ id: 'result', check_id: 'check', check_type: 'URL', run_location: 'lab', agent_id: 'agent' },
  ...{ has_failures: 0, has_errors: 0, is_degraded: 0, code: null, message: null },
  ...{ started: 1_767_225_600_000, stopped: 1_767_225_600_100 },
};

function traced(detail: unknown, fields: object = {}): StoredResult {
  return { run: { id: 'run', attempt: 0 }, row: { ...row, ...fields }, detail } as StoredResult;
}

describe('the spans of a run', () => {
  it('are the run, its request under the id of its traceparent, and its phases without those inside others', () => {
    const { spans, log } = spansOf(
      traced(
        wholeDetail('URL', {
          request: { method: 'GET', traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` },
          response: {
            status: 200,
            timingPhases: {
              wait: 0,
              dns: 1.5,
              tcp: 2,
              proxy: 0,
              tls: 3,
              firstByte: 10.25,
              download: 0.001,
              total: 13.751,
            },
          },
        }),
      ),
      'shop',
    );
    expect(log).toBeUndefined();
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set(['a'.repeat(32)]));
    expect(spans.map(({ name }) => name)).toEqual([
      ...['check shop', 'GET', 'dns', 'tcp', 'tls', 'firstByte', 'download'],
    ]);
    const [run, request, ...phases] = spans;
    expect(request).toMatchObject({
      ...{ spanId: 'b'.repeat(16), parentSpanId: run?.spanId, kind: 3 },
      startTimeUnixNano: '1767225600000000000',
      endTimeUnixNano: '1767225600013751000',
    });
    expect(run?.endTimeUnixNano).toBe('1767225600100000000');
    expect(phases.at(-1)?.endTimeUnixNano).toBe(request?.endTimeUnixNano);
    for (const phase of phases) expect(phase.parentSpanId).toBe(request?.spanId);
  });

  it('are the run only if nothing was timed, whatever the detail is', () => {
    for (const detail of [
      undefined,
      null,
      [],
      'x',
      { request: null, response: null },
      { response: { timingPhases: 1 } },
    ])
      expect(spansOf(traced(detail), 'shop').spans).toHaveLength(1);
  });

  it('come with a record of a failure, as a warning if the target is not at fault', () => {
    const failed = spansOf(
      traced(null, { has_failures: 1, code: 'STATUS_UNEXPECTED', message: 'no' }),
      'shop',
    );
    expect(failed.spans[0]?.status).toEqual({ code: 2, message: 'no' });
    expect(failed.log).toMatchObject({ severityText: 'ERROR', spanId: failed.spans[0]?.spanId });
    const ours = spansOf(traced(null, { has_failures: 1, has_errors: 1, code: 'X', message: 'no' }), 'shop');
    expect(ours.log?.severityText).toBe('WARN');
  });
});
