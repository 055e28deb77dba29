import { storedFacts } from '@picket/platform/store/details/run-facts.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';

const dayMs = 86_400_000;
/** The results of the last days that are looked at; details of most passes may be left out. */
const daysBack = 3;
const resultsBack = 50;

/**
 * The host that showed a check the certificate that ends at an instant, where it followed redirects to several;
 * undefined where the last results do not say so.
 */
export async function hostOfCertificate(
  repositories: Pick<Repositories, 'results'>,
  checkId: string,
  expiresAt: number,
  now: number,
): Promise<string | undefined> {
  const filter = { checkId, from: now - daysBack * dayMs, to: now + 1, resultType: 'FINAL' } as const;
  const results = await repositories.results.behind(filter, undefined, resultsBack);
  for (const { certificate_expires: expires, check_type: type, detail } of results) {
    const host = expires === expiresAt ? storedFacts(type, detail).certificate?.host : null;
    if (host) return host;
  }
  return undefined;
}
