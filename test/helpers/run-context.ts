import type { RunContext } from '../../src/checks/contract/run-context.ts';
import { createRunLog } from '../../src/checks/contract/run-log.ts';
import { createEgressPolicy } from '../../src/probes/egress/policy.ts';
import { systemResolver } from '../../src/probes/resolver.ts';

/** The context of a runner in a test: no variables, no proxy, the default egress policy and five seconds. */
export function runContext(overrides: Partial<RunContext> = {}): RunContext {
  return {
    signal: new AbortController().signal,
    timeoutMs: 5000,
    log: createRunLog(),
    variables: {},
    proxyUrl: null,
    clientCertificates: [],
    resolver: systemResolver,
    egress: createEgressPolicy(),
    ...overrides,
  };
}
