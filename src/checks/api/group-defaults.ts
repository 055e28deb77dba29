import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import type { GroupDefaults } from '../contract/group-defaults.ts';
import { authNotUnique, isAuthUnique } from '../http/auth/auth.ts';
import { assertionProblems } from '../judging/assertion-problems.ts';
import { ApiSpec } from './spec.ts';

const ApiCheckDefaults = lazySchema(() => {
  const request = ApiSpec.shape.request.shape;
  return z
    .object({
      url: z.string().max(2048).default('').describe('Value of `{{GROUP_BASE_URL}}` in the checks'),
      headers: request.headers,
      queryParameters: request.queryParameters,
      assertions: request.assertions,
      basicAuth: request.basicAuth,
      auth: request.auth,
    })
    .meta({ id: 'ApiCheckDefaults' });
});
type ApiCheckDefaults = z.output<typeof ApiCheckDefaults.schema>;
type Request = ApiSpec['request'];

const sentTo = [['apiCheckDefaults', 'url']] as const;

/**
 * Defaults of a group for the requests of its API checks (check model 2.6): headers and query parameters that the check
 * does not set itself, assertions that precede the check's own, and credentials if the check has none.
 */
export const apiGroupDefaults: GroupDefaults = {
  field: 'apiCheckDefaults',
  get schema() {
    return ApiCheckDefaults.schema;
  },
  masked: [
    { path: ['apiCheckDefaults', 'headers'], flags: ['locked'], sentTo },
    { path: ['apiCheckDefaults', 'queryParameters'], flags: ['locked'], sentTo },
    { path: ['apiCheckDefaults', 'basicAuth', 'password'], sentTo },
    { path: ['apiCheckDefaults', 'auth', 'password'], sentTo },
  ],
  problems(given) {
    const defaults = given as ApiCheckDefaults;
    const problems = assertionProblems(defaults.assertions, ['assertions']);
    return isAuthUnique(defaults) ? problems : [...problems, { path: ['auth'], message: authNotUnique }];
  },
  apply(definition, given) {
    const defaults = given as ApiCheckDefaults;
    const own = definition.request as Request;
    return {
      ...definition,
      request: {
        ...own,
        headers: mergedByName(defaults.headers, own.headers ?? [], (key) => key.toLowerCase()),
        queryParameters: mergedByName(defaults.queryParameters, own.queryParameters ?? [], (key) => key),
        assertions: [...defaults.assertions, ...(own.assertions ?? [])],
        ...(own.auth || own.basicAuth ? {} : { basicAuth: defaults.basicAuth, auth: defaults.auth }),
      },
    };
  },
  variables(given) {
    const { url } = given as ApiCheckDefaults;
    const variables: Record<string, string> = url === '' ? {} : { GROUP_BASE_URL: url };
    return variables;
  },
};

function mergedByName<Entry extends { readonly key: string }>(
  defaults: readonly Entry[],
  own: readonly Entry[],
  nameOf: (key: string) => string,
): Entry[] {
  const taken = new Set(own.map(({ key }) => nameOf(key)));
  return [...defaults.filter(({ key }) => !taken.has(nameOf(key))), ...own];
}
