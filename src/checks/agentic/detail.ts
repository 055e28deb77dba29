import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { AgenticPlan } from './plan/plan.ts';

const text = z.string().max(100_000);

/** Origin of the steps of a run. */
export const planOrigins = ['found', 'replayed', 'healed'] as const;

/** Result of a run of an agentic check (spec.md, `agenticCheckResult`; check model 3.2). */
export const AgenticDetail = lazySchema(() =>
  z.object({
    summary: text.nullable(),
    prompt: text,
    assertions: z
      .array(
        z.object({
          condition: text,
          passed: z.boolean(),
          actual: text.nullable(),
          expected: text.nullable(),
        }),
      )
      .max(1000),
    suggestions: z
      .array(
        z.object({
          summary: text,
          prompt: text.nullable(),
          promptReplacement: text.nullable(),
          secrets: z.array(z.string().max(255)).max(100),
          category: z.enum(['credentials', 'endpoint', 'configuration']),
        }),
      )
      .max(100),
    steps: z
      .array(
        z.object({
          type: z.enum(['tool_call', 'tool_result', 'message']),
          name: text.nullable(),
          input: z.record(z.string(), z.unknown()).nullable(),
          output: z.unknown(),
          timestamp: z.iso.datetime(),
          sequenceNumber: z.int().min(0),
        }),
      )
      .max(10_000),
    errors: z.array(z.object({ error: z.object({ message: text }) })).max(100),
    artifactManifest: z
      .record(z.string(), z.string())
      .describe('Paths of artifacts, each with its description'),
    screenshots: z.array(z.string()).max(100).default([]).describe('Screenshots of the page'),
    plan: z
      .object({
        origin: z
          .enum(planOrigins)
          .describe(
            'found: by the model; replayed: without the model; healed: the model replaced steps that no longer matched',
          ),
        version: z.int().nullable().describe('Plan version at the start of the run; null without a plan'),
        fresh: AgenticPlan.schema
          .nullable()
          .describe('New plan for later runs; null if the plan has not changed'),
      })
      .nullable()
      .default(null),
    usage: z
      .object({
        model: z.string(),
        calls: z.int(),
        inputTokens: z.int(),
        outputTokens: z.int(),
        isEstimated: z
          .boolean()
          .default(false)
          .describe('Whether tokens are estimated from the messages, because the model did not report them'),
        waitedMs: z.number(),
        cost: z
          .number()
          .nullable()
          .describe('Calculated with the prices in the settings of the agent; null without prices'),
      })
      .nullable()
      .default(null)
      .describe('Model usage of the run; null without model requests'),
  }),
);
export type AgenticDetail = z.output<typeof AgenticDetail.schema>;
