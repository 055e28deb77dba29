import { expect, it } from 'vitest';
import { CheckResult, detailOf } from './check-result.ts';

const at = '2026-01-01T00:00:00.000Z';
const ofOlderService = {
  ...{ id: 'r', resultType: 'FINAL', name: 'shop', checkId: 'c', hasFailures: true, hasErrors: false },
  ...{ isDegraded: null, isCancelled: false, overMaxResponseTime: null, runLocation: 'lab' },
  ...{ startedAt: at, stoppedAt: at, created_at: at, responseTime: 1, checkRunId: 1, attempts: 1 },
  ...{ sequenceId: null, errorGroupIds: [], scheduledAt: at, hostStartedAt: at, startDelayMs: 0 },
  ...{ agentLagMs: 0, agentOverheadMs: 0, isTimingDoubtful: false, isDetailLeftOut: false, artifacts: [] },
  failure: { owner: 'target', code: 'NO_REPLY', message: 'no', whatFailed: 'the target', sentence: 'no' },
};

it('reads results of a service before 8.0, which lack a type, facts of a failure and some details', () => {
  const result = CheckResult.parse(ofOlderService);
  expect(result).toMatchObject({ checkType: '', failure: { details: {} } });
  expect(detailOf(result)).toBeNull();
});
