import { z } from 'zod';

const text = z.string().max(100_000);

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
});
export type AgenticDetail = z.output<typeof AgenticDetail>;
