import { z } from 'zod';

/** The body of every error answer. */
export const ErrorBody = z
  .object({
    statusCode: z.int(),
    error: z.string().describe('The HTTP phrase'),
    message: z.string().describe('What is wrong, where, and how to fix it'),
    attributes: z.record(z.string(), z.unknown()).optional(),
    validation: z
      .object({
        source: z.enum(['payload', 'query', 'params', 'headers']),
        keys: z.array(z.string()).describe('Every bad field, as a dotted path'),
      })
      .optional(),
  })
  .meta({ id: 'Error' });
export type ErrorBody = z.infer<typeof ErrorBody>;
