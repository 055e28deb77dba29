import { z } from 'zod';
import type { Repositories } from '../../../platform/store/repositories.ts';
import { storedJson } from '../../../platform/store/stored-json.ts';

const dayMs = 86_400_000;
/** The results of the last days that are looked at; details of most passes may be left out. */
const daysBack = 3;
const resultsBack = 50;

const readDetail = storedJson(
  'results.detail',
  z.object({
    response: z
      .object({ certificate: z.object({ host: z.string().optional() }).nullable().default(null) })
      .default({ certificate: null }),
  }),
);

/**
 * The host that showed a check the certificate that ends at an instant, where it followed redirects to several;
 * undefined where the last results do not say so.
 */
export async function hostOfCertificate(
  repositories: Repositories,
  checkId: string,
  expiresAt: number,
  now: number,
): Promise<string | undefined> {
  const filter = { checkId, from: now - daysBack * dayMs, to: now + 1, resultType: 'FINAL' } as const;
  const results = await repositories.results.behind(filter, undefined, resultsBack);
  for (const { certificate_expires, detail } of results) {
    if (certificate_expires !== expiresAt || detail === null) continue;
    const host = readDetail(detail).response.certificate?.host;
    if (host !== undefined) return host;
  }
  return undefined;
}
