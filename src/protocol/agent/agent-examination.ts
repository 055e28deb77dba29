import { z } from 'zod';
import { defineRoute, successful } from '../http/route.ts';

/** The largest body of an examination, in bytes. */
export const maxExaminationBytes = 8 * 1024 * 1024;

export const Examination = z
  .object({
    serverTime: z.number().int().min(0),
    version: z.string().describe('Version of the service'),
    location: z.object({ slugName: z.string(), name: z.string() }).describe('Where the key belongs'),
    isOutdated: z.boolean().describe('Whether the service takes this version of the agent for too old'),
    storageProblem: z
      .string()
      .nullish()
      .describe('Why the service stores nothing at the moment; null when it does'),
    analyticsProblem: z
      .string()
      .nullish()
      .describe('Why reports and charts cannot be made at the moment; null when they can'),
    receivedBytes: z.int().min(0).describe('How much of the body arrived'),
  })
  .meta({ id: 'Examination' });
export type Examination = z.output<typeof Examination>;

export const LocationNeed = z
  .object({
    checkType: z.string(),
    runtimeId: z.string().nullable().describe('The runtime of its scripts; null: it needs none'),
    checkCount: z.int().min(1),
    checkNames: z.array(z.string()).max(3).describe('Of the oldest of them'),
  })
  .meta({ id: 'LocationNeed' });
export type LocationNeed = z.output<typeof LocationNeed>;

export const locationNeedRoutes = {
  listLocationNeeds: defineRoute({
    method: 'GET',
    path: '/v1/agent/needs',
    operationId: 'listLocationNeeds',
    summary: 'What an agent must be able to run for the checks of its location that are switched on',
    tag: 'Agent protocol',
    credential: 'location',
    success: successful,
    response: z.object({ needs: z.array(LocationNeed) }),
  }),
};

export const examinationRoutes = {
  examineConnection: defineRoute({
    method: 'POST',
    path: '/v1/agent/examinations',
    operationId: 'examineConnection',
    summary:
      'Whether key, versions, clocks and uploads of an agent are in order; changes nothing, the body is thrown away',
    tag: 'Agent protocol',
    credential: 'location',
    query: z.object({ agentVersion: z.string().max(64) }),
    isBodyRaw: true,
    success: successful,
    response: Examination,
  }),
};
