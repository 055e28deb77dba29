import { z } from 'zod';
import type { ApiClient } from './api-client.ts';
import type { SampleCheck } from './sample-checks.ts';

/** A private location with a key for its agents. */
export const Place = z.object({ id: z.string(), key: z.string() });
export type Place = z.infer<typeof Place>;

export const Identified = z.object({ id: z.string(), name: z.string() });
export type Identified = z.infer<typeof Identified>;
const Tagged = Identified.extend({ tags: z.array(z.string()) });

export async function createLocation(
  api: ApiClient,
  place: { readonly name: string; readonly slugName: string },
): Promise<Place> {
  const created = await api.call(
    'POST',
    '/v1/private-locations',
    z.object({ id: z.string(), keys: z.array(z.object({ rawKey: z.string() })).min(1) }),
    place,
  );
  return { id: created.id, key: created.keys[0]?.rawKey ?? '' };
}

/** The pages hide or delete checks with this tag in one click. */
const exampleTag = 'example';

/**
 * Creates the sample monitors, or updates the ports of those of an earlier start. Other checks are left alone, and
 * samples that were deleted stay deleted.
 *
 * @param known names of samples that earlier starts created.
 */
export async function upsertChecks(
  api: ApiClient,
  samples: readonly SampleCheck[],
  { place, known }: { readonly place: string; readonly known: readonly string[] },
): Promise<Identified[]> {
  const existing = await api.call('GET', '/v1/checks?limit=100', z.array(Tagged));
  const checks = [];
  for (const { route, body } of samples) {
    const same = existing.find(({ name }) => name === body.name);
    if (same) {
      const tags = [...new Set([...same.tags, exampleTag])];
      checks.push(
        await api.call('PUT', `/v1/checks/${same.id}`, Identified, { request: body.request, tags }),
      );
    } else if (!known.includes(body.name)) {
      const written = { ...body, tags: [exampleTag], privateLocations: [place] };
      checks.push(await api.call('POST', `/v1/checks/${route}`, Identified, written));
    }
  }
  return checks;
}

/** Whether the account has a check that is not a sample. */
export async function hasOwnCheck(api: ApiClient): Promise<boolean> {
  const checks = await api.call('GET', '/v1/checks?limit=100', z.array(Tagged));
  return checks.some(({ tags }) => !tags.includes(exampleTag));
}
