import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { defineRoutes } from '../http/route.ts';
import { SentAgentSettings } from './agent-settings.ts';

/** Maximum size of an examination's body, in bytes. */
export const maxExaminationBytes = 8 * 1024 * 1024;

export const Examination = lazySchema(() =>
  z
    .object({
      serverTime: z.number().int().min(0),
      version: z.string().describe('Version of the service'),
      location: z.object({ slugName: z.string(), name: z.string() }).describe('Location of the key'),
      agentSettings: SentAgentSettings.schema
        .nullish()
        .describe('Settings that the location asks of its agents; null: none; absent from older services'),
      isOutdated: z.boolean().describe('Whether this version of the agent is too old for the service'),
      storageProblem: z
        .string()
        .nullish()
        .describe('Why the service cannot store data at present; null if it can'),
      analyticsProblem: z
        .string()
        .nullish()
        .describe('Why reports and charts are unavailable at present; null if they are available'),
      receivedBytes: z.int().min(0).describe('Received bytes of the body'),
    })
    .meta({ id: 'Examination' }),
);
export type Examination = z.output<typeof Examination.schema>;

export const LocationNeed = lazySchema(() =>
  z
    .object({
      checkType: z.string(),
      runtimeId: z.string().nullable().describe('Runtime of the scripts; null: no runtime needed'),
      browsers: z.array(z.string()).default([]).describe('Browsers besides Chromium'),
      checkCount: z.int().min(1),
      checkNames: z.array(z.string()).max(3).describe('Names of the oldest checks, at most three'),
    })
    .meta({ id: 'LocationNeed' }),
);
export type LocationNeed = z.output<typeof LocationNeed.schema>;

export const locationNeedRoutes = defineRoutes('Agent protocol', 'location', {
  listLocationNeeds: {
    method: 'GET',
    path: '/v1/agent/needs',
    summary: 'Capabilities that the active checks of the location need',
    response: lazySchema(() => z.object({ needs: z.array(LocationNeed.schema) })),
  },
});

export const examinationRoutes = defineRoutes('Agent protocol', 'location', {
  examineConnection: {
    method: 'POST',
    path: '/v1/agent/examinations',
    summary:
      'Examine key, version, clock and uploads of an agent; has no side effects, the body is discarded',
    query: z.object({ agentVersion: z.string().max(64) }),
    isBodyRaw: true,
    response: Examination,
  },
});
