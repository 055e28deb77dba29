import { readEnvironment } from '@picket/lib/env.ts';
import { z } from 'zod';
import { readLogin } from './stored-login.ts';

/** Address and key of the service, for the commands that call it. */
export const ApiSettings = z.object({
  PICKET_URL: z
    .url({ protocol: /^https?$/, error: 'must be the http:// or https:// URL of the service' })
    .default('http://127.0.0.1:8080')
    .meta({ description: 'Address of the service, as in a browser', defaultText: 'that of picket login' }),
  PICKET_API_KEY: z
    .string({
      error:
        'is required, or a login by "picket login": an API key of the account, such as that in .picket/api-key after npm start',
    })
    .meta({ description: 'API key of the account', secret: true, defaultText: 'that of picket login' }),
});
export type ApiSettings = z.output<typeof ApiSettings>;

/**
 * Reads the settings of the environment, or else those of `picket login`. The key of a login is sent only to the
 * address of that login: with another PICKET_URL the environment must contain the key, too.
 *
 * @throws AppError CONFIG_INVALID naming each bad variable.
 */
export async function readApiSettings(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<ApiSettings> {
  const { PICKET_URL: url, PICKET_API_KEY: key, PICKET_API_KEY_FILE: keyFile } = environment;
  if (url && (key || keyFile)) return readEnvironment(ApiSettings, environment);
  const login = await readLogin(environment);
  if (!login || (url && !isSameService(url, login.url))) return readEnvironment(ApiSettings, environment);
  return readEnvironment(ApiSettings, {
    ...environment,
    PICKET_URL: login.url,
    ...(key || keyFile ? {} : { PICKET_API_KEY: login.apiKey }),
  });
}

function isSameService(one: string, other: string): boolean {
  return URL.parse(one)?.href === URL.parse(other)?.href;
}
