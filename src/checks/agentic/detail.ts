import { z } from 'zod';
import { AgenticPlan } from './plan/plan.ts';

const text = z.string().max(100_000);

/** How a run came to its steps. */
export const planOrigins = ['found', 'replayed', 'healed'] as const;

/** What a run of an agentic check finds out (spec.md, `agenticCheckResult`; check model 3.2). */
export const AgenticDetail = z.object({
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
  artifactManifest: z.record(z.string(), z.string()).describe('Paths of artifacts and what they are'),
  screenshots: z.array(z.string()).max(100).default([]).describe('Pictures of the page'),
  plan: z
    .object({
      origin: z
        .enum(planOrigins)
        .describe(
          'found: by the model; replayed: without it; healed: the model changed steps that no longer fit',
        ),
      version: z.int().nullable().describe('The version that the run began with; null where there was none'),
      fresh: AgenticPlan.nullable().describe(
        'The plan to keep for later runs; null where it has not changed',
      ),
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
        .describe('Whether tokens are estimated from what was sent and received: the model did not say'),
      waitedMs: z.number(),
      cost: z.number().nullable().describe('By the prices of the agent’s settings; null without any'),
    })
    .nullable()
    .default(null)
    .describe('What the run took of the model; null where it asked for nothing'),
});
export type AgenticDetail = z.output<typeof AgenticDetail>;
