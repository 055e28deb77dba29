import { z } from 'zod';
import { frequencies } from '../contract/frequency.ts';
import { regions } from '../tables/regions.ts';

const maxSkills = 100;

/** Fields of checks that say in words what to do (check model 1.9). */
export const AgenticSpec = z.object({
  prompt: z
    .string()
    .trim()
    .min(1)
    .max(10_000)
    .describe('What to do and to verify. Variables reach the run only where the prompt names them: {{NAME}}'),
  agentRuntime: z
    .object({ skills: z.array(z.string().trim().min(1).max(255)).max(maxSkills).default([]) })
    .prefault({}),
  frequency: z
    .literal(frequencies.filter((minutes) => minutes >= 5))
    .default(30)
    .describe('Minutes between runs'),
  locations: z.array(z.enum(regions)).max(3).nullable().default(['us-east-1']),
});
export type AgenticSpec = z.output<typeof AgenticSpec>;
