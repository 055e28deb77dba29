import { storedFacts } from '@picket/platform/store/details/run-facts.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';

const dayMs = 86_400_000;
/** How far back results are searched; details of most passing results may not be stored. */
const daysBack = 3;
const resultsBack = 50;

/**
 * Host that served the certificate with the given expiry, if the check followed redirects across several hosts;
 * undefined if the latest results do not show it.
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
