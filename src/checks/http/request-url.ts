import { z } from 'zod';

/** Where an HTTP request goes (check model 1.2): http or https, or a template whose value decides that. */
export const RequestUrl = z
  .string()
  .max(2048)
  .regex(/^(https?:\/\/|\{\{)/i, 'must start with http:// or https://, or with a {{template}}');
