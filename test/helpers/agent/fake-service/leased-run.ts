import type { LeasedRun } from '../../../../src/protocol/agent/agent.ts';

/** Builds a leased run of a URL monitor, due now; tests override the fields that matter to them. */
export function leasedRun(url: string, overrides: Partial<LeasedRun> = {}): LeasedRun {
  return {
    runId: crypto.randomUUID(),
    leaseNumber: 1,
    resultId: crypto.randomUUID(),
    slotAt: Date.now(),
    attempt: 0,
    mayBeRetried: false,
    mayReportLater: false,
    updatesSnapshots: false,
    sequenceId: crypto.randomUUID(),
    checkRunId: 1,
    accountId: '0f8fad5b-d9cb-469f-a165-70867728950e',
    location: { name: 'test-location', proxyUrl: null },
    check: { id: crypto.randomUUID(), name: 'Test', checkType: 'URL', spec: { request: { url } } },
    variables: {},
    secretNames: [],
    valuesFrom: {},
    runtimeId: '2026.04',
    lifecycle: { setup: [], teardown: [] },
    snippets: [],
    clientCertificates: [],
    plan: null,
    isTestSession: false,
    signature: null,
    ...overrides,
  };
}
