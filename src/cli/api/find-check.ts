import { checkRoutes } from '@picket/protocol/checks/check.ts';
import { ApiError } from './api-error.ts';
import type { ApiClient } from './client.ts';
import { shortId, uuid } from './text.ts';

/** Finds a check by its id or the beginning of it, or by its name if the name is unique. @throws ApiError naming the candidates. */
export async function findCheck(api: ApiClient, named: string): Promise<{ id: string; name: string }> {
  if (uuid.test(named)) {
    const { id, name } = await api.call(checkRoutes.getCheck, { params: { id: named } });
    return { id, name };
  }
  if (shortId.test(named)) {
    const checks = await api.all(checkRoutes.listChecks);
    const [only, second] = checks.filter(({ id }) => id.startsWith(named.toLowerCase()));
    if (only && !second) return { id: only.id, name: only.name };
  }
  const found = await api.all(checkRoutes.listChecks, { search: named });
  const exact = found.filter(({ name }) => name.toLowerCase() === named.toLowerCase());
  const [one, other] = exact.length > 0 ? exact : found;
  if (one && !other) return { id: one.id, name: one.name };
  if (!one) throw new ApiError(`No check has "${named}" in its name.`, true);
  const some = found.slice(0, 10).map(({ id, name }) => `\n  ${id}  ${name}`);
  throw new ApiError(
    `${found.length} checks have "${named}" in their names. Name one by its id:${some.join('')}`,
    true,
  );
}
