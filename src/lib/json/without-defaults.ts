import type { z } from 'zod';
import { isRecord } from './record.ts';

/** Returns a copy without the fields, at any depth, whose absence does not change the parsed result. */
export function withoutDefaults(
  schema: z.ZodType,
  fields: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const copy = structuredClone(fields) as Record<string, unknown>;
  const whole = JSON.stringify(schema.safeParse(copy).data);
  const shorten = (at: Record<string, unknown>): void => {
    for (const [key, value] of Object.entries(at)) {
      delete at[key];
      const read = schema.safeParse(copy);
      if (read.success && JSON.stringify(read.data) === whole) continue;
      at[key] = value;
      for (const part of [value].flat()) if (isRecord(part)) shorten(part);
    }
  };
  shorten(copy);
  return copy;
}
