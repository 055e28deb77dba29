import { Failure } from '@picket/checks/contract/failure.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { EpochMs } from '../http/query.ts';
import { defineRoute, successful } from '../http/route.ts';
import { ReportedArtifacts } from '../results/artifact.ts';
import { AgentCondition } from './agent-condition.ts';
import { AppliedAgentSettings, SentAgentSettings } from './agent-settings.ts';
import { FollowedRunIds } from './followed-run-ids.ts';
import { ClaimedAhead, LaneSlots } from './lane-slots.ts';
import { ClientCertificateMaterial, LeasedRun, type LifecycleScript } from './leased-run.ts';

/**
 * The protocol between agent and service under `/v1/agent/`, authorised by a location key. Times are durations or
 * readings of the service's clock: an agent's clock may be wrong by an hour. Both sides drop unknown keys, so that
 * older agents work with a newer service and vice versa.
 */

const DurationMs = lazySchema(() =>
  z
    .number()
    .min(0)
    .max(7 * 86_400_000),
);

/** A short text that is stored unchanged: without control characters and lone surrogates. */
const label = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .regex(/^\P{C}+$/u, 'must not be empty or contain control characters');

/** Short texts by check type. */
const facts = (description: string) =>
  z
    .record(label(64), label(300))
    .refine((texts) => Object.keys(texts).length <= 100, { error: 'must have at most 100 entries' })
    .default({})
    .describe(description);

/** Identity of the sending process: the agent's stable id and the id of this start. */
export const AgentIdentity = {
  agentId: label(128),
  sessionId: z.uuid(),
};

/** A browser by Playwright's name. */
export const AgentBrowser = lazySchema(() =>
  z
    .object({
      name: label(64).describe('firefox, webkit, chrome or msedge'),
      version: label(64).describe(
        'Build of Playwright for Firefox and WebKit, such as 1490; else its version',
      ),
    })
    .meta({ id: 'AgentBrowser' }),
);
export type AgentBrowser = z.output<typeof AgentBrowser.schema>;

const LeaseRef = lazySchema(() =>
  z
    .object({
      runId: z.uuid(),
      leaseNumber: z
        .int()
        .min(1)
        .describe('Incremented by every lease of the run; results of older leases are fenced'),
    })
    .meta({ id: 'LeaseRef' }),
);
export type LeaseRef = z.infer<typeof LeaseRef.schema>;

export const ClaimRequest = lazySchema(() =>
  z
    .object({
      ...AgentIdentity,
      version: label(64),
      platform: label(128),
      runtimes: z.array(label(64)).max(100).default([]),
      browsers: z
        .array(AgentBrowser.schema)
        .max(50)
        .default([])
        .describe('Browsers besides Chromium that scripts and suites can open at this agent'),
      checkTypes: z.array(label(64)).max(100).describe('Check types that this agent can run'),
      backends: facts('Methods that check types use at this agent, by type'),
      unavailable: facts('Why check types do not work at this agent, by type'),
      droppedResults: z
        .int()
        .min(0)
        .default(0)
        .describe(
          'Results that this agent dropped since its start, because its spool was full or they were too old',
        ),
      condition: AgentCondition.schema
        .nullable()
        .default(null)
        .describe('Load of the agent; null if unknown'),
      settings: AppliedAgentSettings.schema
        .nullable()
        .default(null)
        .describe('Settings of its location that the agent applies; null if it is older than these'),
      freeSlots: LaneSlots.describe('Free capacity of each lane'),
      ...ClaimedAhead,
      fullCheckTypes: z
        .array(label(64))
        .max(100)
        .default([])
        .describe(
          'Types in `checkTypes` that the agent cannot run at present, such as suites when memory is low',
        ),
      waitMs: z.int().min(0).max(30_000).default(0).describe('How long to wait if no work is due'),
      trustedKeys: z
        .array(z.object({ id: label(16), notAfter: EpochMs.nullable() }))
        .max(100)
        .nullable()
        .default(null)
        .describe('Keys whose signed checks the agent runs; null: it runs all checks'),
      claimNumber: z.int().min(1).optional().describe('Distinguishes this claim from others of its session'),
      lostClaims: z
        .array(z.int().min(1))
        .max(100)
        .default([])
        .describe('Earlier claims of the session whose responses never arrived: no agent holds their leases'),
    })
    .meta({ id: 'ClaimRequest' }),
);
export type ClaimRequest = z.output<typeof ClaimRequest.schema>;

export { ClientCertificateMaterial, LeasedRun, type LifecycleScript };

export const ClaimResponse = lazySchema(() =>
  z
    .object({
      serverTime: EpochMs,
      leaseTtlMs: DurationMs.schema.describe(
        'Unless renewed, the leases expire this long after the response was sent',
      ),
      runs: z.array(LeasedRun.schema),
      cancelledRunIds: z
        .array(z.uuid())
        .default([])
        .describe(
          'Hint: runs of this session that were cancelled during the poll. The renewal is authoritative',
        ),
      followedRunIds: FollowedRunIds,
      settings: SentAgentSettings.schema
        .nullable()
        .default(null)
        .describe('Settings that the location asks of its agents; null without any'),
    })
    .meta({ id: 'ClaimResponse' }),
);
export type ClaimResponse = z.output<typeof ClaimResponse.schema>;

export const RenewRequest = lazySchema(() =>
  z.object({ ...AgentIdentity, leases: z.array(LeaseRef.schema).max(10_000) }).meta({ id: 'RenewRequest' }),
);
export type RenewRequest = z.output<typeof RenewRequest.schema>;

export const RenewResponse = lazySchema(() =>
  z
    .object({
      serverTime: EpochMs,
      leaseTtlMs: DurationMs.schema,
      lostRunIds: z
        .array(z.uuid())
        .describe('Leases that this agent lost: stop the runs, their results would be fenced'),
      cancelledRunIds: z.array(z.uuid()),
      followedRunIds: FollowedRunIds,
    })
    .meta({ id: 'RenewResponse' }),
);
export type RenewResponse = z.output<typeof RenewResponse.schema>;

export const ReleaseRequest = lazySchema(() =>
  z
    .object({
      ...AgentIdentity,
      leases: z.array(LeaseRef.schema).max(10_000),
      isLeaving: z
        .boolean()
        .default(false)
        .describe(
          'The agent stops and claims no more runs; the service removes it from its location immediately',
        ),
    })
    .meta({ id: 'ReleaseRequest' }),
);
export type ReleaseRequest = z.output<typeof ReleaseRequest.schema>;

export const ReleaseResponse = lazySchema(() =>
  z.object({ serverTime: EpochMs, released: z.int() }).meta({ id: 'ReleaseResponse' }),
);
export type ReleaseResponse = z.output<typeof ReleaseResponse.schema>;

/**
 * A `Failure` of an agent that may be newer than the service: it includes the owner, because the service may not know
 * the code.
 */
const ReportedFailure = lazySchema(() =>
  Failure.extend({
    code: z.string().max(64).regex(/^\w+$/, 'must be letters, digits and underscores'),
  }).meta({ id: 'ReportedFailure' }),
);

/** An agent's report of one attempt. The schema of the check's type validates `detail`. */
export const ResultReport = lazySchema(() =>
  z
    .object({
      resultId: z.uuid(),
      runId: z.uuid(),
      leaseNumber: z.int().min(1),
      startedAt: EpochMs.describe('Start by the service’s clock, as the agent estimates it'),
      stoppedAt: EpochMs,
      hostStartedAt: EpochMs.nullable()
        .default(null)
        .describe('The start by the clock of the agent’s host, uncorrected; null if unknown'),
      responseTimeMs: DurationMs.schema,
      startDelayMs: DurationMs.schema.describe('From lease to start of the probe'),
      agentLagMs: DurationMs.schema.describe('Maximum lag of the agent during the probe'),
      agentOverheadMs: DurationMs.schema
        .default(0)
        .describe(
          'Time that the agent spent between the phases; not part of any phase or of the response time',
        ),
      isTimingDoubtful: z
        .boolean()
        .default(false)
        .describe('The agent lagged during the probe, so its times may be too long'),
      certificateExpiresAt: EpochMs.nullable()
        .default(null)
        .describe('Expiry of the certificate of the target; null without TLS, or if unknown'),
      isDegraded: z.boolean().nullable(),
      overMaxResponseTime: z.boolean().nullable(),
      failure: ReportedFailure.schema.nullable(),
      errorMessages: z.array(z.string()).max(200),
      artifacts: ReportedArtifacts.schema
        .optional()
        .describe('Files of the run; awaited ones are sent afterwards'),
      detail: z
        .unknown()
        .describe(
          'Details of the run; null if the run ended before there were any; invalid details are dropped, and the result is kept',
        ),
    })
    .meta({ id: 'ResultReport' }),
);
export type ResultReport = z.output<typeof ResultReport.schema>;

export const maxResultsPerCall = 500;

export const ResultsRequest = lazySchema(() =>
  z
    .object({
      ...AgentIdentity,
      results: z
        .array(z.unknown())
        .min(1)
        .max(maxResultsPerCall)
        .describe('ResultReport objects; each is validated separately, and only invalid ones are rejected'),
    })
    .meta({ id: 'ResultsRequest' }),
);
export type ResultsRequest = z.output<typeof ResultsRequest.schema>;

export const ResultReceipt = lazySchema(() =>
  z
    .object({
      resultId: z.string().nullable(),
      status: z
        .enum(['accepted', 'duplicate', 'stale', 'rejected'])
        .describe(
          'accepted: stored; duplicate: already stored; stale: fenced, kept as evidence, never counted; rejected: see reason',
        ),
      reason: z.string().nullable(),
    })
    .meta({ id: 'ResultReceipt' }),
);
export type ResultReceipt = z.output<typeof ResultReceipt.schema>;

export const ResultsResponse = lazySchema(() =>
  z
    .object({
      serverTime: EpochMs,
      items: z.array(ResultReceipt.schema).describe('One per result, in the order of the request'),
    })
    .meta({ id: 'ResultsResponse' }),
);
export type ResultsResponse = z.output<typeof ResultsResponse.schema>;

const agentRoute = {
  method: 'POST',
  tag: 'Agent protocol',
  credential: 'location',
  success: successful,
} as const;

export const agentRoutes = {
  claim: defineRoute({
    ...agentRoute,
    path: '/v1/agent/claims',
    operationId: 'claimRuns',
    summary: 'Lease due runs; waits if none are due',
    body: ClaimRequest,
    response: ClaimResponse,
  }),
  renew: defineRoute({
    ...agentRoute,
    path: '/v1/agent/leases/renew',
    operationId: 'renewLeases',
    summary: 'Renew all held leases; returns lost and cancelled ones',
    body: RenewRequest,
    response: RenewResponse,
  }),
  release: defineRoute({
    ...agentRoute,
    path: '/v1/agent/leases/release',
    operationId: 'releaseLeases',
    summary: 'Return unstarted leases immediately; sign off',
    body: ReleaseRequest,
    response: ReleaseResponse,
  }),
  results: defineRoute({
    ...agentRoute,
    path: '/v1/agent/results',
    operationId: 'reportResults',
    summary: 'Report results; idempotent by result id',
    body: ResultsRequest,
    documentedBody: lazySchema(() =>
      ResultsRequest.schema.extend({ results: z.array(ResultReport.schema).min(1).max(maxResultsPerCall) }),
    ),
    response: ResultsResponse,
    bodyLimitBytes: 32 * 1024 * 1024,
  }),
};
