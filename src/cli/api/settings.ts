import { z } from 'zod';
import { readEnvironment } from '../../lib/env.ts';

/** Where the commands that ask a service find it. */
export const ApiSettings = z.object({
  PICKET_URL: z
    .url({ protocol: /^https?$/, error: 'must be the http:// or https:// address of the service' })
    .default('http://127.0.0.1:8080')
    .meta({ description: 'Address of the service, as for a browser' }),
  PICKET_API_KEY: z
    .string({
      error: 'is required: an API key of the account, such as that in .picket/api-key after npm start',
    })
    .meta({ description: 'API key of the account', secret: true }),
});
export type ApiSettings = z.output<typeof ApiSettings>;

/** @throws AppError CONFIG_INVALID naming each bad variable. */
export function readApiSettings(environment: Readonly<Record<string, string | undefined>>): ApiSettings {
  return readEnvironment(ApiSettings, environment);
}
