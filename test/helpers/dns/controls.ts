import type { QueryControls } from '../../../src/probes/dns/limits.ts';
import { createEgressPolicy } from '../../../src/probes/egress/policy.ts';

/** Controls of a query in a test: the default policy and five seconds. */
export function queryControls(overrides: Partial<QueryControls> = {}): QueryControls {
  return {
    egress: createEgressPolicy(),
    signal: new AbortController().signal,
    timeoutMs: 5000,
    ...overrides,
  };
}
