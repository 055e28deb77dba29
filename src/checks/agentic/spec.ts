import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { frequencies } from '../contract/frequency.ts';
import { regions } from '../tables/regions.ts';

const maxSkills = 100;
const maxOrigins = 50;

const Origin = lazySchema(() =>
  z
    .string()
    .trim()
    .max(300)
    .transform((text) => text.replace(/\/$/, ''))
    .refine((text) => {
      const url = URL.parse(text);
      return url !== null && /^https?:$/.test(url.protocol) && url.origin === text.toLowerCase();
    }, 'must be an origin, such as https://shop.example.com: http or https, a host and perhaps a port, without a path')
    .transform((text) => text.toLowerCase()),
);

/** Fields of checks that describe their task in words (check model 1.9). */
export const AgenticSpec = lazySchema(() =>
  z.object({
    prompt: z
      .string()
      .trim()
      .min(1)
      .max(10_000)
      .describe(
        'Task and expected result, in plain language. A run gets only the variables that the prompt names: {{NAME}}',
      ),
    allowedOrigins: z
      .array(Origin.schema)
      .max(maxOrigins)
      .default([])
      .describe('Origins that runs may access in addition to those of URLs in the prompt'),
    agentRuntime: z
      .object({
        skills: z
          .array(z.string().trim().min(1).max(255))
          .max(maxSkills)
          .default([])
          .describe('Names of skills: hints for the model when it plans the steps'),
      })
      .prefault({}),
    frequency: z
      .literal(frequencies.filter((minutes) => minutes >= 5))
      .default(30)
      .describe('Minutes between runs'),
    locations: z.array(z.enum(regions)).max(3).nullable().default(['us-east-1']),
  }),
);
export type AgenticSpec = z.output<typeof AgenticSpec.schema>;
