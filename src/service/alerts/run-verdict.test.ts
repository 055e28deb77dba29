import { AlertSettings } from '@picket/checks/contract/definition/common-fields.ts';
import { describe, expect, it } from 'vitest';
import { parallelVerdict, type ResultFlags } from './run-verdict.ts';

const flags = {
  passed: { has_failures: 0, has_errors: 0, is_degraded: 0 },
  degraded: { has_failures: 0, has_errors: 0, is_degraded: 1 },
  failed: { has_failures: 1, has_errors: 0, is_degraded: 0 },
  broken: { has_failures: 0, has_errors: 1, is_degraded: null },
} as const satisfies Record<string, ResultFlags>;
type Said = keyof typeof flags;

const any = AlertSettings.parse({});
const half = AlertSettings.parse({ parallelRunFailureThreshold: { enabled: true, percentage: 50 } });

describe('the verdict of a run at several locations', () => {
  it.each<[Said[], number, AlertSettings, string | null, boolean]>([
    [['failed'], 3, any, 'failed', true],
    [['passed', 'failed'], 3, any, 'failed', true],
    [['passed'], 3, any, 'passed', false],
    [['passed', 'passed', 'passed'], 3, any, 'passed', true],
    [['passed', 'degraded', 'passed'], 3, any, 'degraded', true],
    [['degraded'], 3, any, 'degraded', false],
    [['broken', 'passed'], 2, any, 'passed', true],
    [['broken', 'broken'], 2, any, null, true],
    [['failed', 'passed'], 4, half, 'passed', false],
    [['failed', 'failed'], 4, half, 'failed', true],
    [['failed', 'passed', 'passed', 'passed'], 4, half, 'passed', true],
    [['failed', 'failed', 'passed', 'passed'], 4, half, 'failed', true],
    [['failed', 'degraded', 'passed', 'passed'], 4, half, 'degraded', true],
    // Only failures are known, and from too few locations.
    [['failed', 'broken', 'broken', 'broken'], 4, half, null, true],
    [['failed'], 1, half, 'failed', true],
  ])('%j of %i locations', (said, count, settings, verdict, isFinal) => {
    const reported = said.map((one) => flags[one]);
    expect(parallelVerdict(reported, count, settings)).toEqual({ verdict, isFinal });
  });
});
